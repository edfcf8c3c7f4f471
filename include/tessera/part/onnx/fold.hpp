// SPDX-License-Identifier: Apache-2.0
// Nodes of constants alone, and those that ask for shapes, are computed while the network is made.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/translation.hpp"

namespace tessera::onnx {

namespace folding {

constant integers_of(std::vector<std::int64_t> all, bool is_list = true);
constant of_extents(constant c, std::vector<index_t> extents);
/// The extents that a list says, where 0 is the input's own and -1 what is left.
std::vector<index_t> said_extents(const std::vector<index_t>& said, const std::vector<index_t>& have, bool zeros);

/// The function of a node of one constant, element by element; null where it is none.
double (*unary_of(const std::string& type))(double);

/// Which of the operators of two constants this is; of them those from `Equal` on give booleans.
int binary_of(const std::string& type);
std::int64_t binary_integers(int which, std::int64_t x, std::int64_t y);
double binary_numbers(int which, double x, double y);
constant binary(int which, const constant& a, const constant& b);

constant cast(const constant& from, data_type to);

/// What a slice takes along one dimension: its first index, how many, and the step.
struct span_of {
    index_t first = 0, count = 0, step = 1;
};
span_of slice_of(index_t extent, index_t start, index_t end, index_t step);
/// The slices of all dimensions, of nodes Slice.
std::vector<span_of> slices_of(const call& c, const std::vector<index_t>& extents);

} // namespace folding

} // namespace tessera::onnx

#ifndef TESSERA_COMPILED
#include "tessera/part/onnx/fold.inl"
#endif

#include "tessera/base/end_header.inl"
