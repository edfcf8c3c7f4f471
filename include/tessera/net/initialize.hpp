// SPDX-License-Identifier: Apache-2.0
// Values of the parameters before training.
#pragma once

#include "tessera/net/graph.hpp"
#include "tessera/op/mask.hpp"

#include <span>

namespace tessera {

namespace detail {

/// Newton's iteration from above; for x >= 1.
constexpr double square_root(double x) {
    double root = x;
    for (double next = (root + x / root) / 2; next < root; next = (root + x / root) / 2) {
        root = next;
    }
    return root;
}

} // namespace detail

/// Initial values of a parameter, all its elements in row-major order, or the first of them: weights and biases of convolutions and linear layers uniform
/// in +-1/sqrt(inputs that an output sums over), which are PyTorch's bounds; gamma 1 and beta 0 of norms, running mean 0 and running
/// variance 1; tables of embeddings uniform in +-1/sqrt(their columns). Each value is a function of the seed, the parameter and its index alone.
constexpr void initialize(const graph_view& g, int parameter, std::uint64_t seed, std::span<float> values) {
    const parameter_node& p = g.parameters[parameter];
    if (p.initial != initial_values::uniform) {
        const bool ones = p.initial == initial_values::ones;
        const bool moments = p.initial == initial_values::moments;
        const std::size_t half = static_cast<std::size_t>(p.extents.volume()) / 2;
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = ones || (moments && i >= half) ? 1.0F : 0.0F;
        }
        return;
    }
    const double limit = 1 / detail::square_root(static_cast<double>(p.fan_in));
    const std::uint64_t key = op::mix(op::mix(~seed) ^ static_cast<std::uint64_t>(parameter));
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double unit = static_cast<double>(op::mix(key ^ i) >> 40U) / static_cast<double>(1U << 24U); // in [0, 1)
        values[i] = static_cast<float>(limit * (2 * unit - 1));
    }
}

} // namespace tessera
