// SPDX-License-Identifier: Apache-2.0
// Operators with parameters: how they are called, what their parameters begin with, and which are shared.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/fold_nodes.hpp"
#include "tessera/part/onnx/regrouped.hpp"

namespace tessera::onnx {

/// A parameter of an operator: the constant that it comes from, and its numbers in the network's shape.
struct parameter_source {
    const char* slot = "weight";
    std::string from; ///< the initializer; "" where there is none of its own
    std::vector<index_t> extents;
    std::vector<float> numbers;
};

/// The numbers of a constant, which must be fp32.
const std::vector<float>& numbers_of(const call& c, const constant& x);
parameter_source as_it_is(const call& c, const char* slot, const constant& x);

/// An operator with parameters. One whose initializers came before in the same form takes the parameters of the first.
view layer(call& c, const std::string& called, op_attributes a, const std::vector<int>& reads,
           std::vector<parameter_source> sources);

/// Takes the addition of constants that alone reads output 0 as a bias: one number for each index along dimension
/// `axis`, counted from the right, of which there are `extent`. The addition is then done.
bool take_bias(call& c, int axis_from_right, index_t extent, parameter_source& to);

/// Multiplies a view by constants, and adds others: a number for each index along the dimensions in which the constants
/// differ, as a convolution of windows of one point in which every channel is a group. Either may be null. Trained
/// where the constant is an initializer.
view channel_affine(call& c, const view& v, const constant* factor, const constant* term);

/// Adds a constant of the shape of one sample, as a table of positions.
view add_table(call& c, const view& v, const constant& table);

/// Some indices of some dimensions of a view.
view part_of(call& c, view v, const std::vector<folding::span_of>& spans);

} // namespace tessera::onnx

#ifndef TESSERA_COMPILED
#include "tessera/part/onnx/layers.inl"
#endif

#include "tessera/base/end_header.inl"
