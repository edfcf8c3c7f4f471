// SPDX-License-Identifier: Apache-2.0
// Rotary positions on plain tiles, by a table of cosines and sines.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/kernels/rotary.hpp"
#include "tessera/backend/host/op/nest.hpp"
#include "tessera/backend/host/op/row.hpp"
#include "tessera/op/library.hpp"

#include <memory>
#include <vector>

namespace tessera::host {

namespace detail {

/// Cosines and sines of some positions, as kernels::rotary_work has them; angles are computed in double.
struct rotary_table {
    std::vector<float> cosine, sine;
};

/// The table of positions [first, first + count), which all jobs that ask for the same one share.
std::shared_ptr<const rotary_table> rotary_table_of(const op::rotary_attributes& a, index_t pairs, index_t first,
                                                    index_t count);

/// Whether a call has whole heads, as all splits of heads leave them; a split of the pairs of a single head does not.
bool has_whole_heads(const compute_call& c);

} // namespace detail

/// Forward and backward: the gradient is turned back.
class rotary_job : public job {
public:
    explicit rotary_job(const bound_call& b);

    void run(const run_state&) override { kernels::turn_pairs(work_); }

private:
    std::shared_ptr<const detail::rotary_table> table_;
    kernels::rotary_work work_;
};

inline constexpr row_list rotary_rows{
    row<op::rotary_record>([](auto of) {
        return operator_row{
            .of = of,
            .add_candidates = detail::add_in_plain,
            .make_job = [](const bound_call& b, const format_table& table, dnnl_stream_t stream) -> owned<job> {
                if (!detail::has_whole_heads(b.call)) {
                    return detail::make_nest_job<op::rotary_record>(b, table, stream);
                }
                return owned<job>(new rotary_job(b));
            },
            .why = "oneDNN has no rotations",
        };
    }),
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/rotary.inl"
#endif

#include "tessera/base/end_header.inl"
