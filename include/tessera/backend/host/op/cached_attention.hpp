// SPDX-License-Identifier: Apache-2.0
// Attention to keys and values that are kept, on plain tiles: many new positions by the kernels of attention, sample by
// sample; few by loops over the keys, for the kernels have queries in the lanes of vectors.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/attention.hpp"

#include <vector>

namespace tessera::host {

class cached_attention_job : public job {
public:
    explicit cached_attention_job(const bound_call& b);

    void run(const run_state& run) override;

private:
    static constexpr index_t few = 8; ///< new positions

    const tile_view& of(operand_kind kind, int slot) const {
        return b_.call.value[b_.call.d->find_operand(kind, slot)];
    }
    void keep(index_t n, index_t first) const;
    void attend_by_kernel(index_t n, index_t first);
    void attend(index_t n, index_t first);
    const float* bias_of(index_t head, index_t first) const;

    bound_call b_;
    op::cached_attention_attributes a_;
    kernels::attention_shape shape_; ///< of one sample
    index_t positions_;
    index_t distances_ = 0;      ///< in the table of a head
    std::vector<float> bias_;    ///< of ALiBi: for each head by how far the query is behind the key
    std::vector<float> weights_; ///< of a row
    std::vector<float> numbers_; ///< maxima and sums that the kernels leave
};

namespace detail {

/// A shard's samples, one at a time, with all that there is room for.
kernels::attention_shape cached_attention_shape_of(const compute_call& c);

} // namespace detail

inline constexpr row_list cached_attention_rows{
    row<op::cached_attention_record>([](auto of) {
        return operator_row{
            .of = of,
            .add_candidates =
                [](const compute_call& c, format_table&, std::vector<candidate>& out) {
                    const kernels::attention_shape s = detail::cached_attention_shape_of(c);
                    if (kernels::fits(s)) {
                        out.push_back(detail::in_format(c, format::plain));
                        out.back().scratch = static_cast<index_t>(kernels::attention_forward_scratch(s));
                    }
                },
            .make_job = detail::make<cached_attention_job>,
            .backward = "nothing",
            .why = "oneDNN's knows no keys that are kept",
        };
    }),
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/cached_attention.inl"
#endif

#include "tessera/base/end_header.inl"
