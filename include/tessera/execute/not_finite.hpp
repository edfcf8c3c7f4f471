// SPDX-License-Identifier: Apache-2.0
// What is said of numbers that are not finite: where they come from, as far as inputs and parameters show it.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/finite.hpp"
#include "tessera/base/number_text.hpp"
#include "tessera/execute/input_data.hpp"
#include "tessera/net/paths.hpp"

#include <cmath>
#include <cstdio>
#include <vector>

namespace tessera::detail {

bool is_finite(std::span<const float> x);

/// No weight of a network that learns is as large: one that is has been spoiled.
inline constexpr float spoiled_above = 1000;

/// Why a loss may not be finite. `parameter(p)` gives all elements of a parameter.
template <class Parameter>
std::string cause_of_loss(const graph_view& g, std::span<const input_data> inputs, Parameter&& parameter) {
    for (int t = 0; t < g.tensor_count; ++t) {
        const tensor_node& x = g.tensors[t];
        if (x.producer >= 0 || x.type == element::i32) {
            continue;
        }
        const input_data& batch = inputs[input_number(g, t)];
        const index_t each = x.extents.volume() / x.extents[0];
        for (index_t i = 0; i < batch.elements; ++i) {
            if (!tessera::is_finite(static_cast<const float*>(batch.data)[i])) {
                return shown_input(x) + " is not finite in sample " + std::to_string(i / each) + "; look at the data";
            }
        }
    }
    int largest = -1;
    float most = 0;
    for (int p = 0; p < g.parameter_count; ++p) {
        const std::vector<float> values = parameter(p);
        if (!is_finite(values)) {
            return "parameter " + parameter_path_of(g, p) +
                   " is not finite, since an earlier step or whoever set it; start again from finite ones, with a "
                   "lower learning rate or clipped gradients";
        }
        for (const float v : values) {
            if (g.parameters[p].trained && std::abs(v) > most) {
                most = std::abs(v);
                largest = p;
            }
        }
    }
    if (most > spoiled_above) {
        char shown[32];
        print_to(shown, sizeof shown, "%.3g", static_cast<double>(most));
        return "parameter " + parameter_path_of(g, largest) + " has become as large as " + shown +
               " in an earlier step, so that the loss overflows; start again from before that, with a lower learning "
               "rate or clipped gradients";
    }
    return "inputs and parameters are finite, so it grew too large on the way; lower the learning rate, or clip "
           "gradients";
}

} // namespace tessera::detail

#ifndef TESSERA_COMPILED
#include "tessera/execute/not_finite.inl"
#endif

#include "tessera/base/end_header.inl"
