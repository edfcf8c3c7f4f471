// SPDX-License-Identifier: Apache-2.0
// Rows taken and put together by index. Each element has a thread, which adds in the order of the rows: no atomic sums,
// the same bits each time.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/op/gather.hpp"

#include <utility>

namespace tessera::cuda::kernels {

inline constexpr kernel gather_forward{"gather_forward", true};
inline constexpr kernel gather_backward{"gather_backward", true};
inline constexpr kernel scatter_forward{"scatter_forward", true};
inline constexpr kernel scatter_backward{"scatter_backward", true};

// clang-format off
TESSERA_KERNELS(gather_code,

struct index_numbers {
    index_t samples = 0;
    index_t y_rows = 0;
    index_t channels = 0;
    index_t x_rows = 0;
    index_t first_row = 0; ///< the shard's: of x (gather) or of y (scatter)
    index_t how = 0;       ///< 0 sum, 1 mean, 2 maximum
};
,

/// at: x, index, y.
template <class T>
__device__ void gather_forward_of(const given<index_numbers>& a) {
    for (long long i = first_index(); i < a.n.samples * a.n.y_rows * a.n.channels; i += index_step()) {
        const long long row = pointer<const int>(a, 1)[i / a.n.channels] - a.n.first_row;
        const long long sample = i / (a.n.y_rows * a.n.channels);
        const T* x = pointer<const T>(a, 0);
        pointer<T>(a, 2)[i] = row >= 0 && row < a.n.x_rows
            ? static_cast<float>(x[(sample * a.n.x_rows + row) * a.n.channels + i % a.n.channels]) : 0.0f;
    }
}
TYPED_KERNEL(gather_forward, index_numbers)

/// at: index, dy, dx.
template <class T>
__device__ void gather_backward_of(const given<index_numbers>& a) {
    for (long long i = first_index(); i < a.n.samples * a.n.x_rows * a.n.channels; i += index_step()) {
        const long long row = i / a.n.channels % a.n.x_rows + a.n.first_row;
        const long long first = i / (a.n.x_rows * a.n.channels) * a.n.y_rows;
        float sum = 0.0f;
        for (long long k = first; k < first + a.n.y_rows; ++k) {
            if (pointer<const int>(a, 0)[k] == row) {
                sum += pointer<const T>(a, 1)[k * a.n.channels + i % a.n.channels];
            }
        }
        pointer<T>(a, 2)[i] = sum;
    }
}
TYPED_KERNEL(gather_backward, index_numbers)

/// Whether a number takes the place of the largest so far: NaN does, once.
__device__ inline bool is_larger(float x, float best) {
    return x > best || (x != x && best == best);
}

/// at: x, index, y.
template <class T>
__device__ void scatter_forward_of(const given<index_numbers>& a) {
    for (long long i = first_index(); i < a.n.samples * a.n.y_rows * a.n.channels; i += index_step()) {
        const long long slot = i / a.n.channels % a.n.y_rows + a.n.first_row;
        const long long first = i / (a.n.y_rows * a.n.channels) * a.n.x_rows;
        float result = 0.0f;
        long long count = 0;
        for (long long t = first; t < first + a.n.x_rows; ++t) {
            if (pointer<const int>(a, 1)[t] == slot) {
                const float x = pointer<const T>(a, 0)[t * a.n.channels + i % a.n.channels];
                result = a.n.how != 2 ? result + x : count == 0 || is_larger(x, result) ? x : result;
                ++count;
            }
        }
        pointer<T>(a, 2)[i] = a.n.how == 1 && count > 0 ? result / static_cast<float>(count) : result;
    }
}
TYPED_KERNEL(scatter_forward, index_numbers)

/// at: index, dy, dx, and x where the maximum is asked for.
template <class T>
__device__ void scatter_backward_of(const given<index_numbers>& a) {
    for (long long i = first_index(); i < a.n.samples * a.n.x_rows * a.n.channels; i += index_step()) {
        const long long own = i / a.n.channels;
        const long long sample = own / a.n.x_rows;
        const int index = pointer<const int>(a, 0)[own];
        const long long slot = index - a.n.first_row;
        float result = 0.0f;
        if (slot >= 0 && slot < a.n.y_rows) {
            result = pointer<const T>(a, 1)[(sample * a.n.y_rows + slot) * a.n.channels + i % a.n.channels];
            long long count = 0;
            for (long long t = sample * a.n.x_rows; a.n.how != 0 && t < (sample + 1) * a.n.x_rows; ++t) {
                if (pointer<const int>(a, 0)[t] != index) {
                    continue;
                }
                ++count;
                if (a.n.how == 2 && t != own) {
                    const T* x = pointer<const T>(a, 3);
                    const float mine = x[i];
                    const float other = x[t * a.n.channels + i % a.n.channels];
                    // Another is the first of the largest.
                    result = t < own ? (is_larger(mine, other) ? result : 0.0f) : (is_larger(other, mine) ? 0.0f : result);
                }
            }
            result = a.n.how == 1 ? result / static_cast<float>(count) : result;
        }
        pointer<T>(a, 2)[i] = result;
    }
}
TYPED_KERNEL(scatter_backward, index_numbers)

)
// clang-format on

} // namespace tessera::cuda::kernels

namespace tessera::cuda::detail {

template <bool Scatters>
kernels::index_numbers rows_of_index(const shard_call& s) {
    const box x = s.region_of(s.input());
    const box y = s.region_of(s.output());
    return {.samples = y.dim[0].size(),
            .y_rows = y.dim[1].size(),
            .channels = y.dim[2].size(),
            .x_rows = x.dim[1].size(),
            .first_row = Scatters ? y.dim[1].begin : x.dim[1].begin,
            .how = Scatters ? s.attributes().as<op::scatter_attributes>().how : 0};
}

template <bool Scatters>
void index_forward(const shard_call& s) {
    s.to.launch(Scatters ? kernels::scatter_forward : kernels::gather_forward,
                {s.value(s.input()), s.value(s.input(1)), s.value_to(s.output())},
                kernel_numbers(rows_of_index<Scatters>(s)), s.volume(s.output()));
}

template <bool Scatters>
void index_backward(const shard_call& s) {
    if (!s.emits(s.input())) {
        return;
    }
    const kernels::index_numbers n = rows_of_index<Scatters>(s);
    std::vector<memory_use> memory{s.value(s.input(1)), s.gradient(s.output()), s.gradient_to(s.input())};
    if (n.how == op::scatter_attributes::max) {
        memory.push_back(s.value(s.input()));
    }
    s.to.launch(Scatters ? kernels::scatter_backward : kernels::gather_backward, std::move(memory), kernel_numbers(n),
                s.volume(s.input()));
}

} // namespace tessera::cuda::detail

namespace tessera::cuda {

inline constexpr operator_row index_rows[] = {
    {.of = &op::gather_rows_record,
     .forward = detail::index_forward<false>,
     .backward = detail::index_backward<false>,
     .calls_forward = "kernel:gather_forward",
     .calls_backward = "kernel:gather_backward",
     .why = "no vendor call takes rows by index",
     .code = kernels::gather_code},
    {.of = &op::scatter_rows_record,
     .forward = detail::index_forward<true>,
     .backward = detail::index_backward<true>,
     .calls_forward = "kernel:scatter_forward",
     .calls_backward = "kernel:scatter_backward",
     .why = "no vendor call puts rows together by index",
     .code = kernels::gather_code},
};

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
