// SPDX-License-Identifier: Apache-2.0
// Bodies of layer_norm.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/layer_norm.hpp"

namespace tessera::host::detail {

TESSERA_INLINE norm_rows layer_norm_rows_of(const compute_call& c) {
    const shape x = region(*c.d, c.d->output(), c.ranges).extents();
    norm_rows r;
    r.channels = x[x.rank - 1];
    r.rows = x.volume() / r.channels;
    r.elements = c.d->operands[0].extents[x.rank - 1];
    r.epsilon = c.attributes.as<op::layer_norm_attributes>().epsilon;
    return r;
}

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
