// SPDX-License-Identifier: Apache-2.0
// Sums, products and other functions of two numbers, element by element.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/backend/cuda/calls/numbers.hpp"
#include "tessera/backend/cuda/kernels/expression.hpp"
#include "tessera/backend/cuda/op/copy.hpp"
#include "tessera/backend/cuda/op/expression.hpp"
#include "tessera/op/add.hpp"
#include "tessera/op/divide.hpp"
#include "tessera/op/gate.hpp"
#include "tessera/op/maximum.hpp"
#include "tessera/op/minimum.hpp"
#include "tessera/op/multiply.hpp"
#include "tessera/op/subtract.hpp"

namespace tessera::cuda::kernels {

inline constexpr kernel add{"add", true};
inline constexpr kernel multiply{"multiply", true};

/// at: a, b, to. n: count.
std::string combine_text();

} // namespace tessera::cuda::kernels

namespace tessera::cuda::detail {

/// a + b or a * b: cuDNN's in fp32. It does not say that it takes bf16.
void combine(const shard_call& s, bool multiplies, memory_use a, memory_use b, memory_use to);

template <bool Multiplies>
void combine_forward(const shard_call& s) {
    if (op::is_broadcast(s.d)) {
        return Multiplies ? expression_forward<op::multiply_record>(s) : expression_forward<op::add_record>(s);
    }
    combine(s, Multiplies, s.value(s.input(0)), s.value(s.input(1)), s.value_to(s.output()));
}

/// The gradient of one factor is the output's times the other.
void multiply_backward(const shard_call& s);

/// Plans rename the gradient where nothing is broadcast.
void add_backward(const shard_call& s);

/// What the table says of an operator whose calls of a vendor need inputs of one shape.
template <const op_record& Of>
inline constexpr table_words vendor_forward = expression_kernels<Of>::words("cudnnOpTensor", expression::the_result, 0,
                                                                            false);
template <const op_record& Of>
inline constexpr table_words vendor_backward = expression_kernels<Of>::words(Of.facts.passes_gradient ? ""
                                                                                                      : "cudnnOpTensor",
                                                                             0, Of.formula->inputs, false);
inline constexpr const char* broadcasts = "cuDNN broadcasts the second input alone, and sums no gradient of it";

} // namespace tessera::cuda::detail

namespace tessera::cuda {

inline constexpr operator_row combine_rows[] = {
    {.of = &op::add_record,
     .forward = detail::combine_forward<false>,
     .backward = detail::add_backward,
     .calls_forward = detail::vendor_forward<op::add_record>.text,
     .calls_backward = detail::vendor_backward<op::add_record>.text,
     .why = detail::broadcasts,
     .text = kernels::combine_text},
    {.of = &op::multiply_record,
     .forward = detail::combine_forward<true>,
     .backward = detail::multiply_backward,
     .calls_forward = detail::vendor_forward<op::multiply_record>.text,
     .calls_backward = detail::vendor_backward<op::multiply_record>.text,
     .why = detail::broadcasts,
     .text = kernels::combine_text},
    detail::expression_row<op::subtract_record>(),
    detail::expression_row<op::divide_record>(),
    detail::expression_row<op::minimum_record>(),
    detail::expression_row<op::maximum_record>(),
    detail::expression_row<op::silu_gate_record>(),
    detail::expression_row<op::gelu_gate_record>(),
    detail::expression_row<op::relu_gate_record>(),
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/op/combine.inl"
#endif

#include "tessera/base/end_header.inl"
