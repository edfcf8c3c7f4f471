// SPDX-License-Identifier: Apache-2.0
// What computes an element-wise operator: functions of as many numbers of each operand.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/kernels/expression.hpp"
#include "tessera/op/expression/record.hpp"

#include <array>

namespace tessera::host {

/// What an operator does to as many numbers of each of its operands, which may have any places in memory. `from`: the
/// inputs, the output, the output's gradient (of a loss, one number for all elements); null where the description says
/// that the pass does not read it; then each attribute of the expression, if it has any. `to`, the output or the
/// gradient of an input, may be one of them.
using elementwise_kernel = void (*)(const float* const* from, float* to, std::ptrdiff_t count) noexcept;

struct elementwise_kernels {
    elementwise_kernel forward = nullptr;
    elementwise_kernel backward[expression::most_inputs] = {}; ///< for each input
};

namespace detail {

template <const expression::formula& F, int Input>
constexpr elementwise_kernel backward_of() {
    if constexpr (Input < F.inputs) {
        return kernels::run_formula<F, Input>;
    } else {
        return nullptr;
    }
}

} // namespace detail

/// Those that follow from an expression.
template <const expression::formula& F>
inline constexpr elementwise_kernels kernels_of{kernels::run_formula<F, expression::the_result>,
                                                {detail::backward_of<F, 0>(), detail::backward_of<F, 1>(),
                                                 detail::backward_of<F, 2>(), detail::backward_of<F, 3>()}};

/// Those of an operator, by the number of an input or expression::the_result.
struct kernels_by_number {
    const elementwise_kernels* of = nullptr;

    void operator()(int which, const float* const* from, float* to, std::ptrdiff_t count) const noexcept;
};

/// The attributes of an expression as its kernels take them.
std::array<float, expression::most_attributes> attributes_as_floats(const op_attributes& a);

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/elementwise_kernels.inl"
#endif

#include "tessera/base/end_header.inl"
