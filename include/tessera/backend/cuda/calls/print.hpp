// SPDX-License-Identifier: Apache-2.0
// A list of calls as text: a line for each call.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/call.hpp"

#include <charconv>

namespace tessera::cuda {

/// The function that a call calls.
std::string function_of(const call& c);

namespace detail {

template <class Numbers>
std::string joined(const Numbers& numbers, const char* between) {
    std::string text;
    for (const auto& x : numbers) {
        text += (text.empty() ? "" : between) + std::to_string(x);
    }
    return text;
}

/// The first integers of a kernel, and more where it has more.
std::vector<index_t> used(const kernel_numbers& numbers);

/// As short as it can be, and exact.
std::string number(double x);

/// A precision where it is not the usual one.
inline std::string said(precision p) { return p == precision::fp32 ? "" : std::string(" ") + to_text(p); }

/// Sizes of a call.
struct size_text {
    std::string operator()(const convolution& c) const;
    std::string operator()(const bias_add& c) const { return "y " + joined(c.y, "x"); }
    std::string operator()(const bias_gradient& c) const { return "y " + joined(c.y, "x"); }
    std::string operator()(const matrix_product& c) const;
    std::string operator()(const pooling& c) const;
    std::string operator()(const activation& c) const;
    std::string operator()(const activated_convolution& c) const { return (*this)(c.of) + " relu"; }
    std::string operator()(const normalization& c) const;
    std::string operator()(const row_softmax& c) const;
    std::string operator()(const tensor_operation& c) const;
    std::string operator()(const kernel_launch& c) const;
    std::string operator()(const memory_clear&) const { return ""; }
    std::string operator()(const memory_copy&) const { return ""; }
    std::string operator()(const upload& c) const { return "tensor " + std::to_string(c.tensor); }
    std::string operator()(const point_to_point& c) const;
    std::string operator()(const collective& c) const;
};

} // namespace detail

/// One call: its number, task, stream, function and sizes, the memory that it reads and writes (device:arena+bytes),
/// what it waits for and whether an event follows it.
std::string to_text(const call_list& l, const plan& p, const graph_view& g, int number);

/// The whole list, with its communicators first.
std::string to_text(const call_list& l, const plan& p, const graph_view& g);

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/calls/print.inl"
#endif

#include "tessera/base/end_header.inl"
