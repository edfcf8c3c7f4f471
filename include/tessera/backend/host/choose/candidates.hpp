// SPDX-License-Identifier: Apache-2.0
// What the ways to compute operators have in common: which formats a call takes, and what they are worth by rules of
// thumb.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/call.hpp"

namespace tessera::host::detail {

/// A candidate of our own: what is touched of activations in format `f`, everything else plain.
inline candidate in_format(const compute_call& c, int f) {
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

/// A candidate on blocks of samples: activations in them, parameters plain.
inline candidate in_samples(const compute_call& c) {
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

/// The format that forward reads, or backward writes, the first operand in.
inline int entry_format(const candidate& k) { return k.value[0] >= 0 ? k.value[0] : k.gradient[0]; }

/// A rule of thumb: plain images cost three times as much.
inline double plain_is_slow(const compute_call&, const candidate& k, double flops) {
    return entry_format(k) == format::plain ? flops * 3.0 : flops;
}

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
