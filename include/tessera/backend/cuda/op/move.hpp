// SPDX-License-Identifier: Apache-2.0
// Operators that move elements: a permutation, a part, a repetition, each as nested loops with strides.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/op/broadcast_to.hpp"
#include "tessera/op/flip.hpp"
#include "tessera/op/pad.hpp"
#include "tessera/op/permute.hpp"
#include "tessera/op/roll.hpp"
#include "tessera/op/upsample.hpp"
#include "tessera/task/element_move.hpp"

namespace tessera::cuda::kernels {

inline constexpr kernel move_elements{"move_elements", true};
inline constexpr kernel set_zeros{"set_zeros", true};

// clang-format off
TESSERA_DEVICE_CODE(move_code,

/// A thread for each element that is written. at: from, to. n: 5 counts, 5 strides of from, 5 of to, first element of from, of to, how many of the loops
/// give an element of `to` each; over the others elements are added up.
template <class T>
__device__ void move_elements_of(const arguments& a) {
    const T* from = pointer<const T>(a, 0) + a.n[15];
    T* to = pointer<T>(a, 1) + a.n[16];
    const int kept = static_cast<int>(a.n[17]);
    long long count = 1;
    long long summed = 1;
    for (int d = 0; d < 5; ++d) {
        (d < kept ? count : summed) *= a.n[d];
    }
    for (long long i = first_index(); i < count; i += index_step()) {
        long long rest = i;
        long long source = 0;
        long long target = 0;
        for (int d = kept - 1; d >= 0; --d) {
            const long long x = rest % a.n[d];
            rest /= a.n[d];
            source += x * a.n[5 + d];
            target += x * a.n[10 + d];
        }
        if (summed == 1) {
            to[target] = from[source];
            continue;
        }
        float sum = 0.0f;
        for (long long k = 0; k < summed; ++k) {
            long long inner = k;
            long long at = source;
            for (int d = 4; d >= kept; --d) {
                at += inner % a.n[d] * a.n[5 + d];
                inner /= a.n[d];
            }
            sum += from[at];
        }
        to[target] = sum;
    }
}
TYPED_KERNEL(move_elements)

/// at: to. n: count.
template <class T>
__device__ void set_zeros_of(const arguments& a) {
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        pointer<T>(a, 0)[i] = 0.0f;
    }
}
TYPED_KERNEL(set_zeros)

)
// clang-format on

} // namespace tessera::cuda::kernels

namespace tessera::cuda::detail {

/// Both memories are whole dense arrays. Of more than five loops the outer ones are launches.
inline void add_move(const shard_call& s, element_move m, const memory_use& from, const memory_use& to) {
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
    kernel_numbers n;
    for (int l = 0; l < most; ++l) {
        n.n[l] = l < m.loops ? m.count[l] : 1;
        n.n[5 + l] = m.from[l];
        n.n[10 + l] = m.to[l];
    }
    n.n[15] = m.from_start;
    n.n[16] = m.to_start;
    n.n[17] = m.kept;
    s.to.launch(kernels::move_elements, {from, to}, n, m.written());
}

inline void move_forward(const shard_call& s) {
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
        kernel_numbers n;
        n.n[0] = y.volume();
        s.to.launch(kernels::set_zeros, {s.value_to(out)}, n, n.n[0]);
    }
    for (int o = 0; o < out; ++o) {
        if (!s.region_of(o).empty()) {
            add_move(s, moves[o], s.value(o), s.value_to(out));
        }
    }
}

inline void move_backward(const shard_call& s) {
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

namespace tessera::cuda {

namespace detail {

constexpr operator_row move_row(const op_record& of, const char* forward = "kernel:move_elements") {
    return {
        .of = &of,
        .forward = move_forward,
        .backward = move_backward,
        .calls_forward = forward,
        .calls_backward = "kernel:move_elements",
        .why = "a copy computes nothing; one kernel serves all moves, forward and backward",
        .code = kernels::move_code,
    };
}

} // namespace detail

inline constexpr operator_row move_rows[] = {
    detail::move_row(op::broadcast_to_record),
    detail::move_row(op::flip_record),
    detail::move_row(op::pad_record, "kernel:set_zeros kernel:move_elements"),
    detail::move_row(op::permute_record),
    detail::move_row(op::roll_record),
    detail::move_row(op::upsample_nearest_record),
};

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
