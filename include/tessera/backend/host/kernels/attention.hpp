// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tessera/base/begin_header.inl"

#include "vector.hpp"

/// Attention without the matrix of weights: rows of scores come and go in blocks of 64 queries and 64 keys that stay in
/// the cache (Dao et al. 2022, "FlashAttention", arXiv 2205.14135; Dao 2023, "FlashAttention-2", arXiv 2307.08691).
///
/// Queries lie in the lanes of vectors, so that a row's maximum and sum are sums of vectors, keys and values are read
/// as they lie in memory, and a causal mask or a window leaves out vectors of lanes. Sums are in one order, whatever
/// else the machine does.
///
/// A masked weight is zero, and what it would be multiplied by is not read: a key or value that is not finite reaches
/// the rows alone that see it.
namespace tessera::host::kernels {

/// One step of forward for a rectangle. `scratch` has attention_forward_scratch() bytes.
inline void attention_forward(const attention_shape& s, const attention_forward_arrays& a, attention_step step,
                              void* scratch) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::attention_forward(s, a, step, scratch);
    case instruction_set::avx2:
        return avx2::attention_forward(s, a, step, scratch);
    case instruction_set::portable:
        break;
    }
    return portable::attention_forward(s, a, step, scratch);
}

/// Of each row of a rectangle the sum of output * its gradient, of a part of the keys its part. `scratch` has
/// attention_means_scratch() bytes.
inline void attention_means(const attention_shape& s, const attention_rows<const float>& output,
                            const attention_rows<const float>& output_gradient, const attention_numbers<float>& to,
                            void* scratch) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::attention_means(s, output, output_gradient, to, scratch);
    case instruction_set::avx2:
        return avx2::attention_means(s, output, output_gradient, to, scratch);
    case instruction_set::portable:
        break;
    }
    return portable::attention_means(s, output, output_gradient, to, scratch);
}

/// The gradients of a rectangle: with queries divided those of keys and values, with keys divided those of queries, are
/// partial sums. `scratch` has attention_backward_scratch() bytes.
inline void attention_backward(const attention_shape& s, const attention_backward_arrays& a, void* scratch) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::attention_backward(s, a, scratch);
    case instruction_set::avx2:
        return avx2::attention_backward(s, a, scratch);
    case instruction_set::portable:
        break;
    }
    return portable::attention_backward(s, a, scratch);
}

} // namespace tessera::host::kernels

#include "tessera/base/end_header.inl"
