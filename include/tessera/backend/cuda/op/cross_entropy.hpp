// SPDX-License-Identifier: Apache-2.0
// Softmax cross-entropy, nest by nest, of a shard of the classes. Logits are [samples, classes, plane]; a row is a
// sample's pixel.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/backend/cuda/calls/numbers.hpp"
#include "tessera/backend/cuda/kernels/rows.hpp"
#include "tessera/op/cross_entropy.hpp"

namespace tessera::cuda::kernels {

inline constexpr kernel row_loss{"row_loss", true};
inline constexpr kernel softmax_gradient{"softmax_gradient", true};

// clang-format off
TESSERA_DEVICE_CODE(cross_entropy_code,

/// log(sum) + maximum - logit of the label, where the shard has the label's class, else 0. at: logits, labels, maxima,
/// sums, to.
template <class T>
__device__ void row_loss_of(const given<row_numbers>& a) {
    for (long long row = first_index(); row < a.n.samples * a.n.plane; row += index_step()) {
        const long long k = pointer<const int>(a, 1)[row] - a.n.first_class;
        float loss = 0.0f;
        if (k >= 0 && k < a.n.columns) {
            const float x = pointer<const T>(a, 0)[(row / a.n.plane * a.n.columns + k) * a.n.plane + row % a.n.plane];
            // an offset of all logits cancels
            loss = logf(pointer<const float>(a, 3)[row]) + (pointer<const float>(a, 2)[row] - x);
        }
        pointer<float>(a, 4)[row] = loss;
    }
}
TYPED_KERNEL(row_loss, row_numbers)

/// (softmax - 1 at the label) * scale. at: logits, labels, maxima, sums, dx.
template <class T>
__device__ void softmax_gradient_of(const given<row_numbers, loss_reals>& a) {
    const row_share s(a.n, true);
    if (!s.is_inside) {
        return;
    }
    const float scale = static_cast<float>(a.f.scale);
    const float largest = pointer<const float>(a, 2)[s.row];
    const float part = 1.0f / pointer<const float>(a, 3)[s.row];
    const long long label = pointer<const int>(a, 1)[s.row] - a.n.first_class;
    const long long gap = s.mixed ? 1 : s.gap;
    for (long long k = s.first; k < a.n.columns; k += s.step()) {
        float x[8];
        s.load(a.n, pointer<const T>(a, 0), k, a.n.columns, 0.0f, x);
        for (int u = 0; u < 8; ++u) {
            const float hit = k + u * gap == label ? 1.0f : 0.0f;
            x[u] = (expf(x[u] - largest) * part - hit) * scale;
        }
        s.store(a.n, pointer<T>(a, 4), k, x);
    }
}
TYPED_KERNEL(softmax_gradient, row_numbers, loss_reals)

)
// clang-format on

} // namespace tessera::cuda::kernels

namespace tessera::cuda::detail {

/// Samples, classes, pixels and the number of the first class of a shard of logits. A position of a sequence is a
/// sample.
kernels::row_numbers class_numbers(const shard_call& s);

void cross_entropy_forward(const shard_call& s);

void cross_entropy_backward(const shard_call& s);

} // namespace tessera::cuda::detail

namespace tessera::cuda {

inline constexpr operator_row cross_entropy_row{
    .of = &op::cross_entropy_record,
    .forward = detail::cross_entropy_forward,
    .backward = detail::cross_entropy_backward,
    .calls_forward = "kernel:row_maximum kernel:row_exponentials kernel:row_loss kernel:count_not_finite",
    .calls_backward = "kernel:softmax_gradient",
    .why = "no classic vendor call computes a cross-entropy; its three nests are those of a split one",
    .code = kernels::cross_entropy_code,
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/op/cross_entropy.inl"
#endif

#include "tessera/base/end_header.inl"
