// SPDX-License-Identifier: Apache-2.0
// Bodies of move.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/move.hpp"

namespace tessera::cuda::detail {

TESSERA_INLINE void add_move(const shard_call& s, element_move m, const memory_use& from, const memory_use& to) {
    constexpr int most = 5;
    if (m.is_empty()) {
        return;
    }
    if (m.loops > most && m.kept > 0) {
        const index_t count = m.count[0];
        const index_t steps[2] = {m.from[0], m.to[0]};
        for (int l = 0; l + 1 < m.loops; ++l) {
            m.count[l] = m.count[l + 1];
            m.from[l] = m.from[l + 1];
            m.to[l] = m.to[l + 1];
        }
        --m.loops;
        --m.kept;
        for (index_t i = 0; i < count; ++i) {
            add_move(s, m, from, to);
            m.from_start += steps[0];
            m.to_start += steps[1];
        }
        return;
    }
    if (m.is_dense()) {
        const index_t size = bytes_of(s.type());
        memory_use source = composer::from(from, m.from_start * size);
        memory_use target = composer::from(to, m.to_start * size);
        source.bytes = target.bytes = m.written() * size;
        s.to.add(memory_copy{}, {source, target});
        return;
    }
    kernels::move_numbers n{.from_start = m.from_start, .to_start = m.to_start, .kept = m.kept};
    for (int l = 0; l < most; ++l) {
        n.count[l] = l < m.loops ? m.count[l] : 1;
        n.from[l] = m.from[l];
        n.to[l] = m.to[l];
    }
    s.to.launch(kernels::move_elements, {from, to}, kernel_numbers(n), m.written());
}

TESSERA_INLINE void move_forward(const shard_call& s) {
    const int out = s.output();
    const box y = s.region_of(out);
    element_move moves[max_operands];
    index_t written = 0;
    for (int o = 0; o < out; ++o) {
        if (!s.region_of(o).empty()) {
            moves[o] = move_between(s.d, o, s.region_of(o), out, y, s.call.ranges);
            written += moves[o].written() * (moves[o].is_empty() ? 0 : 1);
        }
    }
    if (written < y.volume()) {
        const kernels::count_numbers n{.count = y.volume()};
        s.to.launch(kernels::set_zeros, {s.value_to(out)}, kernel_numbers(n), n.count);
    }
    for (int o = 0; o < out; ++o) {
        if (!s.region_of(o).empty()) {
            add_move(s, moves[o], s.value(o), s.value_to(out));
        }
    }
}

TESSERA_INLINE void move_backward(const shard_call& s) {
    const int out = s.output();
    for (int o = 0; o < out; ++o) {
        const box x = s.region_of(o);
        if (s.emits(o) && !x.empty()) {
            add_move(s, move_between(s.d, out, s.region_of(out), o, x, s.call.ranges), s.gradient(out),
                     s.gradient_to(o));
        }
    }
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
