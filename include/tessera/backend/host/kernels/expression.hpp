// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tessera/base/begin_header.inl"

#include "vector.hpp"

/// Kernels that are made of expressions.
namespace tessera::host::kernels {

/// to[i] = the result of a formula (expression::the_result), or the gradient of one of its inputs, on contiguous arrays
/// of any format. `from`: the inputs, the result and its gradient (of a loss, one number), null where the formula does
/// not read them, and a pointer to each attribute. `to` may be one of them. Accurate to 1e-6 of each function.
template <const expression::formula& F, int Which>
void run_formula(const float* const* from, float* to, std::ptrdiff_t count) noexcept {
    switch (active_instruction_set()) {
    case instruction_set::avx512:
        return avx512::run_formula<F, Which>(from, to, count);
    case instruction_set::avx2:
        return avx2::run_formula<F, Which>(from, to, count);
    case instruction_set::portable:
        break;
    }
    return portable::run_formula<F, Which>(from, to, count);
}

} // namespace tessera::host::kernels

#include "tessera/base/end_header.inl"
