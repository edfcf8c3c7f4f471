// SPDX-License-Identifier: Apache-2.0
// Softmax. One whose rows are whole is a call of cuDNN; nest by nest, a split leaves partial results between the nests,
// for which no vendor call exists.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/backend/cuda/calls/numbers.hpp"
#include "tessera/backend/cuda/kernels/rows.hpp"
#include "tessera/op/softmax.hpp"

namespace tessera::cuda::kernels {

inline constexpr kernel softmax_forward{"softmax_forward", true};
inline constexpr kernel softmax_total_gradient{"softmax_total_gradient", true};
inline constexpr kernel softmax_input_gradient{"softmax_input_gradient", true};

// clang-format off
TESSERA_DEVICE_CODE(softmax_code,

/// exp(x - maximum) / sum, and 0 where a causal row does not see. at: x, maxima, sums, y.
template <class T>
__device__ void softmax_forward_of(const given<row_numbers>& a) {
    const row_share s(a.n, false);
    if (!s.is_inside) {
        return;
    }
    const long long seen = seen_columns(a, s.row);
    const float largest = pointer<const float>(a, 1)[s.row];
    const float part = 1.0f / pointer<const float>(a, 2)[s.row];
    for (long long k = s.first; k < a.n.columns; k += s.step()) {
        float x[8] = {};
        if (k < seen) {
            s.load(a.n, pointer<const T>(a, 0), k, seen, 0.0f, x);
            for (int u = 0; u < 8; ++u) {
                x[u] = k + u * s.gap < seen ? expf(x[u] - largest) * part : 0.0f;
            }
        }
        s.store(a.n, pointer<T>(a, 3), k, x);
    }
}
TYPED_KERNEL(softmax_forward, row_numbers)

/// The sum of dy * y of every row. at: dy, y, to. y is 0 where the row does not see, and NaN comes of a dy there that
/// is not finite.
template <class T>
__device__ void softmax_total_gradient_of(const given<row_numbers>& a) {
    __shared__ double shared[256];
    const row_share s(a.n, false);
    const long long seen = s.is_inside ? seen_columns(a, s.row) : 0;
    double sum = 0;
    for (long long k = s.first; s.is_inside && k < a.n.columns; k += s.step()) {
        float dy[8];
        float y[8];
        s.load(a.n, pointer<const T>(a, 0), k, a.n.columns, 0.0f, dy);
        s.load(a.n, pointer<const T>(a, 1), k, seen, 0.0f, y);
        for (int u = 0; u < 8; ++u) {
            sum += static_cast<double>(dy[u]) * y[u];
        }
    }
    sum = row_sum(s, sum, shared);
    if (s.own == 0 && s.is_inside) {
        pointer<float>(a, 2)[s.row] = static_cast<float>(sum);
    }
}
TYPED_KERNEL(softmax_total_gradient, row_numbers)

/// y * (dy - sum of dy * y); the sum is not finite where a dy is not. at: dy, y, sums, dx.
template <class T>
__device__ void softmax_input_gradient_of(const given<row_numbers>& a) {
    const row_share s(a.n, false);
    if (!s.is_inside) {
        return;
    }
    const long long seen = seen_columns(a, s.row);
    const float sum = pointer<const float>(a, 2)[s.row];
    for (long long k = s.first; k < a.n.columns; k += s.step()) {
        float dy[8] = {};
        float y[8] = {};
        if (k < seen) {
            s.load(a.n, pointer<const T>(a, 0), k, seen, 0.0f, dy);
            s.load(a.n, pointer<const T>(a, 1), k, seen, 0.0f, y);
        }
        for (int u = 0; u < 8; ++u) {
            y[u] = y[u] * (dy[u] - sum);
        }
        s.store(a.n, pointer<T>(a, 3), k, y);
    }
}
TYPED_KERNEL(softmax_input_gradient, row_numbers)

)
// clang-format on

} // namespace tessera::cuda::kernels

namespace tessera::cuda::detail {

/// Rows and columns, and up to which column a causal row sees.
kernels::row_numbers softmax_numbers(const shard_call& s, int o);

void softmax_forward(const shard_call& s);

void softmax_backward(const shard_call& s);

inline bool softmax_is_one_call(const op_attributes& a) { return !a.as<op::softmax_attributes>().causal; }

} // namespace tessera::cuda::detail

namespace tessera::cuda {

inline constexpr operator_row softmax_rows[] = {
    {.of = &op::softmax_record,
     .forward = detail::softmax_forward,
     .backward = detail::softmax_backward,
     .calls_forward = "cudnnSoftmaxForward kernel:row_maximum kernel:row_exponentials kernel:softmax_forward",
     .calls_backward = "cudnnSoftmaxBackward kernel:softmax_total_gradient kernel:softmax_input_gradient",
     .why = "cuDNN's softmax has no causal mask; a split of the rows' elements leaves partial sums",
     .code = kernels::softmax_code,
     .is_one_call = detail::softmax_is_one_call},
    {.of = &op::padded_softmax_record,
     .forward = detail::softmax_forward,
     .backward = detail::softmax_backward,
     .calls_forward = "kernel:row_maximum kernel:row_exponentials kernel:softmax_forward",
     .calls_backward = "kernel:softmax_total_gradient kernel:softmax_input_gradient",
     .why = "cuDNN's softmax knows no lengths",
     .code = kernels::softmax_code},
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/op/softmax.inl"
#endif

#include "tessera/base/end_header.inl"
