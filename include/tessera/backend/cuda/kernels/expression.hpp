// SPDX-License-Identifier: Apache-2.0
// The text of kernels that are made of expressions.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/kernels/common.hpp"
#include "tessera/base/finite.hpp"
#include "tessera/base/number_text.hpp"
#include "tessera/op/description.hpp"
#include "tessera/op/expression/formula.hpp"

#include <cmath>
#include <cstdio>
#include <iterator>
#include <string>

namespace tessera::cuda {

namespace detail {

/// A number as a float literal of device code.
std::string float_literal(double x);

/// What a node computes, of the names of its operands.
std::string node_text(expression::opcode what, const std::string& a, const std::string& b, const std::string& c);

} // namespace detail

/// Pointers that a kernel of an expression takes before that of what it writes, in order: of inputs, the result, its
/// gradient those that it reads. They are numbers of leaves: k for input k, the number of inputs for the result, one
/// more for its gradient, which of a loss is no array but f[0].
struct kernel_leaves {
    int at[expression::most_inputs + 2] = {};
    int count = 0;
};
static_assert(std::size(kernel_leaves().at) == std::size(kernels::broadcast_numbers().leaves));

kernel_leaves leaves_of(const expression::formula& f, int which);

namespace detail {

/// Pointers to the leaves and to what is written.
std::string pointers_text(const expression::formula& f, int which, const kernel_leaves& leaves);

/// One number after the other, up to the root. `broadcast`: leaf k is read at p<k>, else at i.
std::string nodes_text(const expression::formula& f, int which, const kernel_leaves& leaves, bool broadcast);

} // namespace detail

/// A TYPED_KERNEL that computes the result of a formula (expression::the_result), or the gradient of an input. at: what
/// leaves_of() says, to, which of a loss is float. f: the attributes, behind them the gradient of a loss.
std::string kernel_text(const std::string& name, const expression::formula& f, int which);

/// The same of inputs that are broadcast: a thread for each number that is written, which sums in double.
std::string broadcast_kernel_text(const std::string& name, const expression::formula& f, int which);

/// What the name of the kernel of a pass ends in: _forward; _backward, or, of an operator of several inputs,
/// _backward_0 and so on. Of inputs that are broadcast: _forward_broadcast and so on.
constexpr const char* kernel_suffix(const expression::formula& f, int which, bool broadcast = false) {
    constexpr const char* of_input[2][expression::most_inputs] = {
        {"_backward_0", "_backward_1", "_backward_2", "_backward_3"},
        {"_backward_0_broadcast", "_backward_1_broadcast", "_backward_2_broadcast", "_backward_3_broadcast"}};
    return which < 0       ? (broadcast ? "_forward_broadcast" : "_forward")
           : f.inputs == 1 ? "_backward" // of one input nothing is broadcast
                           : of_input[broadcast ? 1 : 0][which];
}
std::string kernel_name(const std::string& name, const expression::formula& f, int which, bool broadcast = false);

/// The kernels of an operator for inputs that are broadcast, if it has several; those of losses are not.
std::string broadcast_kernels_text(const std::string& name, const expression::formula& f);

/// All kernels of an operator.
std::string kernels_text(const std::string& name, const expression::formula& f);

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/kernels/expression.inl"
#endif

#include "tessera/base/end_header.inl"
