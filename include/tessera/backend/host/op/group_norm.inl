// SPDX-License-Identifier: Apache-2.0
// Bodies of group_norm.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/group_norm.hpp"

namespace tessera::host::detail {

TESSERA_INLINE norm_rows group_norm_rows_of(const compute_call& c) {
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

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
