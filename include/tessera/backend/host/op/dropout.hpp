// SPDX-License-Identifier: Apache-2.0
// Dropout of elements, of channels and of samples on plain tiles and on blocks of 16 samples.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/choose/candidates.hpp"
#include "tessera/backend/host/op/row.hpp"
#include "tessera/op/dropout.hpp"

#include <cstring>

namespace tessera::host {

/// Dropout of elements, channels or samples: the mask is a function of the global index (op/mask.hpp), computed anew in
/// backward.
class dropout_job : public job {
public:
    dropout_job(const bound_call& b, op::dropped_unit unit);

    void run(const run_state& run) override;

private:
    void drop_elements(std::uint64_t key, index_t sample, index_t channel, index_t row) const;

    void drop_together(std::uint64_t key, index_t sample, index_t channel, index_t row) const;

    bound_call b_;
    op::dropped_unit unit_;
    detail::channel_rows rows_;
    const float* from_ = nullptr;
    float* to_ = nullptr;
    interval begin_;                                ///< first sample, first channel
    interval ranges_[3] = {{0, 1}, {0, 1}, {0, 1}}; ///< depth, height, width
    index_t extents_[3] = {1, 1, 1};                ///< of the whole tensor
    index_t channels_ = 1, plane_ = 1;              ///< likewise
};

namespace detail {

template <op::dropped_unit Unit>
constexpr operator_row dropout_row(const op_record* of) {
    return {.of = of,
            .add_candidates =
                [](const compute_call& c, format_table&, std::vector<candidate>& out) {
                    out.push_back(in_format(c, format::samples16));
                    out.push_back(in_format(c, format::plain));
                },
            .make_job = [](const bound_call& b, const format_table&,
                           dnnl_stream_t) { return owned<job>(new dropout_job(b, Unit)); },
            .why =
                "the mask is a function of the global index, so that every split drops the same; oneDNN draws its own"};
}

} // namespace detail

inline constexpr row_list dropout_rows{
    row<op::dropout_record>([](auto of) { return detail::dropout_row<op::dropped_unit::element>(of); }),
    row<op::channel_dropout_record>([](auto of) { return detail::dropout_row<op::dropped_unit::channel>(of); }),
    row<op::stochastic_depth_record>([](auto of) { return detail::dropout_row<op::dropped_unit::sample>(of); }),
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/dropout.inl"
#endif

#include "tessera/base/end_header.inl"
