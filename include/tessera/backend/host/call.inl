// SPDX-License-Identifier: Apache-2.0
// Bodies of call.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/call.hpp"

namespace tessera::host {

TESSERA_INLINE candidate::candidate() {
    for (int o = 0; o < max_operands; ++o) {
        value[o] = gradient[o] = -1;
    }
}

TESSERA_INLINE bool same_formats(const candidate& a, const candidate& b) {
    bool same = a.engine == b.engine;
    for (int o = 0; o < max_operands; ++o) {
        same = same && a.value[o] == b.value[o] && a.gradient[o] == b.gradient[o];
    }
    return same;
}

TESSERA_INLINE local_window::local_window(const compute_call& c) {
    const description& d = *c.d;
    const int in = d.find_operand(operand_kind::input);
    const int out = d.output();
    const box xb = region(d, in, c.ranges);
    const box yb = region(d, out, c.ranges);
    x = xb.extents();
    y = yb.extents();
    a = op::windows_of(c.attributes, x.rank);
    for (int k = 0; k < a.dimensions; ++k) {
        const index_t first = yb.dim[2 + k].begin * a.stride[k] - a.padding[k];
        const index_t last =
            (yb.dim[2 + k].end - 1) * a.stride[k] - a.padding[k] + (a.window[k] - 1) * a.dilation[k] + 1;
        pad_begin[k] = xb.dim[2 + k].begin - first;
        pad_end[k] = last - xb.dim[2 + k].end;
    }
}

TESSERA_INLINE bool local_window::is_symmetric() const {
    bool same = true;
    for (int k = 0; k < a.dimensions; ++k) {
        same = same && pad_begin[k] == pad_end[k];
    }
    return same;
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
