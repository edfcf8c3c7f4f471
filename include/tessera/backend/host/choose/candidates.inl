// SPDX-License-Identifier: Apache-2.0
// Bodies of candidates.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/choose/candidates.hpp"

namespace tessera::host::detail {

TESSERA_INLINE candidate in_format(const compute_call& c, int f) {
    candidate k;
    k.engine = engine_kind::vectors;
    for (int o = 0; o < c.d->operands.size(); ++o) {
        const operand& x = c.d->operands[o];
        const bool activation = x.kind == operand_kind::input || x.kind == operand_kind::output;
        const int own = activation && x.type == element::f32 && x.extents.rank > 1 ? f : format::plain;
        k.value[o] = c.value[o].region.rank > 0 ? own : -1;
        k.gradient[o] = c.gradient[o].region.rank > 0 ? own : -1;
    }
    return k;
}

TESSERA_INLINE candidate in_samples(const compute_call& c) {
    candidate k;
    k.engine = engine_kind::vectors;
    for (int o = 0; o < c.d->operands.size(); ++o) {
        const operand& x = c.d->operands[o];
        const bool activation = x.kind == operand_kind::input || x.kind == operand_kind::output;
        const int f = activation && x.type == element::f32 && x.extents.rank > 1 ? format::samples16 : format::plain;
        if (is_forward(c.what)) {
            k.value[o] = f;
        } else {
            k.gradient[o] = o == c.d->output() || has(c.emits, o) ? f : -1;
            bool read = false;
            for (int e = 0; e < c.d->operands.size(); ++e) {
                read = read || (has(c.emits, e) && has(c.d->operands[e].gradient_reads, o));
            }
            k.value[o] = read ? f : -1;
        }
    }
    return k;
}

TESSERA_INLINE double plain_is_slow(const compute_call&, const candidate& k, double flops) {
    return entry_format(k) == format::plain ? flops * 3.0 : flops;
}

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
