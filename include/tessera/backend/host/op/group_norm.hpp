// SPDX-License-Identifier: Apache-2.0
// Group normalization.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/row_norm.hpp"
#include "tessera/op/group_norm.hpp"

namespace tessera::host {

namespace detail {

inline norm_rows group_norm_rows_of(const compute_call& c) {
    const auto own = c.attributes.as<op::group_norm_attributes>();
    const shape x = region(*c.d, c.d->output(), c.ranges).extents();
    const shape& whole = c.d->operands[0].extents;
    norm_rows r;
    r.groups = c.ranges[c.d->find_loop(loop_name::channel)].size();
    r.rows = x[0] * r.groups;
    r.channels = x[1] / r.groups;
    r.plane = x[2] * x[3];
    r.elements = whole.volume() / whole[0] / own.groups;
    r.epsilon = own.epsilon;
    return r;
}

} // namespace detail

inline constexpr row_list group_norm_rows{
    row<op::group_norm_record>([](auto of) {
        return operator_row{
            .of = of,
            .add_candidates = detail::add_in_plain,
            .make_job = detail::make<row_norm_job<detail::group_norm_rows_of>>,
            .why = "oneDNN 2.6 has none",
        };
    }),
};

} // namespace tessera::host

#include "tessera/base/end_header.inl"
