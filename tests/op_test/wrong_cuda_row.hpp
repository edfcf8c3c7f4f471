// SPDX-License-Identifier: Apache-2.0
// The operator that CUDA computes wrong by intent.
#pragma once

#include "op_test/wrong_row.hpp"

#include "tessera/backend/cuda/calls/compose.hpp"

namespace op_test {

inline constexpr const char* wrong_text = R"(
template <class T>
__device__ void op_test_wrong_of(const arguments& a) {
    const T* from = pointer<const T>(a, 0);
    T* to = pointer<T>(a, 1);
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        const float x = from[i];
        to[i] = i + 1 == a.n[0] ? 2 * x + 1 : 2 * x;
    }
}
TYPED_KERNEL(op_test_wrong)
)";
inline constexpr ts::cuda::kernel wrong_kernel{"op_test_wrong", true, wrong_text};

inline constexpr ts::cuda::operator_row wrong_cuda_row{
    .of = nullptr,
    .forward =
        [](const ts::cuda::shard_call& s) {
            ts::cuda::kernel_numbers n;
            n.n[0] = s.size(s.input(), 0) * s.size(s.input(), 1);
            s.to.launch(wrong_kernel, {s.value(s.input()), s.value_to(s.output())}, n, n.n[0]);
        },
    .backward =
        [](const ts::cuda::shard_call& s) {
            if (s.emits(s.input())) {
                ts::cuda::kernel_numbers n;
                n.n[0] = s.size(s.input(), 0) * s.size(s.input(), 1);
                s.to.launch(wrong_kernel, {s.gradient(s.output()), s.gradient_to(s.input())}, n, n.n[0]);
            }
        },
    .calls_forward = "kernel:op_test_wrong",
    .calls_backward = "kernel:op_test_wrong",
};
inline constexpr ts::op_record wrong_cuda_record = twice_with<true>("cuda", &wrong_cuda_row);

} // namespace op_test
