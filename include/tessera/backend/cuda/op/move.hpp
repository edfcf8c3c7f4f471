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
TESSERA_KERNELS(move_code,

struct move_numbers {
    index_t count[5] = {};
    index_t from[5] = {}; ///< strides
    index_t to[5] = {};
    index_t from_start = 0; ///< element
    index_t to_start = 0;
    index_t kept = 0; ///< loops that give an element of `to` each; over the others elements are added up
};
,

/// A thread for each element that is written. at: from, to.
template <class T>
__device__ void move_elements_of(const given<move_numbers>& a) {
    const T* from = pointer<const T>(a, 0) + a.n.from_start;
    T* to = pointer<T>(a, 1) + a.n.to_start;
    const int kept = static_cast<int>(a.n.kept);
    long long count = 1;
    long long summed = 1;
    for (int d = 0; d < 5; ++d) {
        (d < kept ? count : summed) *= a.n.count[d];
    }
    for (long long i = first_index(); i < count; i += index_step()) {
        long long rest = i;
        long long source = 0;
        long long target = 0;
        for (int d = kept - 1; d >= 0; --d) {
            const long long x = rest % a.n.count[d];
            rest /= a.n.count[d];
            source += x * a.n.from[d];
            target += x * a.n.to[d];
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
                at += inner % a.n.count[d] * a.n.from[d];
                inner /= a.n.count[d];
            }
            sum += from[at];
        }
        to[target] = sum;
    }
}
TYPED_KERNEL(move_elements, move_numbers)

/// at: to.
template <class T>
__device__ void set_zeros_of(const given<count_numbers>& a) {
    for (long long i = first_index(); i < a.n.count; i += index_step()) {
        pointer<T>(a, 0)[i] = 0.0f;
    }
}
TYPED_KERNEL(set_zeros, count_numbers)

)
// clang-format on

} // namespace tessera::cuda::kernels

namespace tessera::cuda::detail {

/// Both memories are whole dense arrays. Of more than five loops the outer ones are launches.
void add_move(const shard_call& s, element_move m, const memory_use& from, const memory_use& to);

void move_forward(const shard_call& s);

void move_backward(const shard_call& s);

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

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/op/move.inl"
#endif

#include "tessera/base/end_header.inl"
