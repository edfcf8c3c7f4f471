// SPDX-License-Identifier: Apache-2.0
// Values of the parameters before training.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/paths.hpp"
#include "tessera/op/mask.hpp"

#include <cmath>
#include <span>
#include <string_view>
#include <vector>

namespace tessera {

namespace detail {

/// Numbers of a parameter that are each a function of its key and their index alone.
struct parameter_numbers {
    std::uint64_t key = 0;

    /// In [0, 1), with the digits of a float.
    double unit(std::uint64_t i) const;
    double within(double limit, std::uint64_t i) const { return limit * (2 * unit(i) - 1); }
    /// Mean 0, deviation 1: Box and Muller's, of two numbers of 53 bits.
    double normal(std::uint64_t i) const;
    /// The first of normal numbers that is within two deviations.
    double truncated_normal(std::uint64_t i) const;
};

/// What numbers of a parameter are drawn by: of the seed and of its path, whatever else is in the network.
std::uint64_t key_of_path(std::uint64_t seed, std::string_view path);

/// Makes the rows of a matrix orthogonal and as long as 1, twice by Gram's and Schmidt's procedure, which leaves
/// nothing but rounding. There are at most as many rows as columns.
void make_orthogonal(std::vector<double>& m, std::size_t rows, std::size_t columns);

/// A matrix of `rows` rows with orthogonal rows, or columns where these are fewer, of normal numbers from `first` on.
void fill_orthogonal(const parameter_numbers& draw, std::uint64_t first, std::size_t rows, double length,
                     std::span<float> to);

/// fan_out as PyTorch counts it: what one of the second extent has elements; of a stack of matrices [E,O,I] it is O.
index_t fan_out_of(const parameter_node& p);

} // namespace detail

/// Initial values of a parameter, all its elements in row-major order, or the first of them, by
/// parameter_node::initial. Each is a function of the seed, the parameter's path (net/paths.hpp) and its index alone,
/// whatever the strategy and the rest of the network; orthogonal ones of all indices, and they are drawn whole. The
/// usual ones: weights and biases of convolutions and linear layers uniform in +-1/sqrt(fan_in), as in PyTorch; gamma 1
/// and beta 0 of norms, running mean 0 and running variance 1; tables uniform in +-1/sqrt(their columns).
void initialize(const parameter_node& p, std::string_view path, std::uint64_t seed, std::span<float> values);

/// Of one parameter of a network; for all of them paths_of() finds the paths at once.
void initialize(const graph_view& g, int parameter, std::uint64_t seed, std::span<float> values);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/local/initialize.inl"
#endif

#include "tessera/base/end_header.inl"
