// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tessera/base/begin_header.inl"

#include "vector.hpp"

/// Normalizations of rows, one pass over each row forward and one for every pass backward: a row that is read twice is
/// in the cache the second time. Rows come in their order, so that the gradients of parameters have one order of sums.
namespace tessera::host::kernels {

/// The sums of every row, then the normalized rows; either, or both. `Centered`: layer norm, else RMS norm.
template <bool Centered>
void norm_forward(const norm_work& w, bool sums, bool results) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::norm_forward<Centered>(w, sums, results);
    case instruction_set::avx2:
        return avx2::norm_forward<Centered>(w, sums, results);
    case instruction_set::portable:
        break;
    }
    return portable::norm_forward<Centered>(w, sums, results);
}

/// The gradients of gamma and beta, where they are not null, and of the sums.
template <bool Centered>
void norm_backward_sums(const norm_work& w) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::norm_backward_sums<Centered>(w);
    case instruction_set::avx2:
        return avx2::norm_backward_sums<Centered>(w);
    case instruction_set::portable:
        break;
    }
    return portable::norm_backward_sums<Centered>(w);
}

/// The gradient of x, from those of the sums.
template <bool Centered>
void norm_backward_input(const norm_work& w) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::norm_backward_input<Centered>(w);
    case instruction_set::avx2:
        return avx2::norm_backward_input<Centered>(w);
    case instruction_set::portable:
        break;
    }
    return portable::norm_backward_input<Centered>(w);
}

} // namespace tessera::host::kernels

#include "tessera/base/end_header.inl"
