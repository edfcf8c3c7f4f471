// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/op/pool.hpp"

// A softmax, a slice of something and text are prose; mean_pool is an identifier.
struct a : softmax<1> {};
struct b : pool_window {};
struct c : slice<0, 1> {};
inline constexpr bool is_c = kind == op::slice_record || kind == op_kind::slice;
inline constexpr char name[] = "softmax";
inline constexpr char prose[] = "a softmax is in prose"; // and so is "mean pooling"
constexpr int slice(int x[2]) { return x[0]; }           // another slice
inline constexpr int d = other.slice + slice(two);
constexpr int e = b.add_op(slice<2, 3>::attributes, "slice", key_of<slice<2, 3>>);
constexpr const char* told = "a mean_pool";
