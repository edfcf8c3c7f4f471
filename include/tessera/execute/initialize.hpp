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
    double unit(std::uint64_t i) const {
        return static_cast<double>(op::mix(key ^ i) >> 40U) / static_cast<double>(1U << 24U);
    }
    double within(double limit, std::uint64_t i) const { return limit * (2 * unit(i) - 1); }
    /// Mean 0, deviation 1: Box and Muller's, of two numbers of 53 bits.
    double normal(std::uint64_t i) const {
        constexpr double pi = 3.14159265358979323846;
        const std::uint64_t first = op::mix(op::mix(key ^ i) + 1);
        const double u = static_cast<double>((first >> 11U) + 1) / 9007199254740992.0; // in (0, 1]
        const double v = static_cast<double>(op::mix(first) >> 11U) / 9007199254740992.0;
        return std::sqrt(-2 * std::log(u)) * std::cos(2 * pi * v);
    }
    /// The first of normal numbers that is within two deviations.
    double truncated_normal(std::uint64_t i) const {
        parameter_numbers again = *this;
        double x = normal(i);
        while (x < -2 || x > 2) {
            again.key = op::mix(again.key + 1);
            x = again.normal(i);
        }
        return x;
    }
};

/// What numbers of a parameter are drawn by: of the seed and of its path, whatever else is in the network.
inline std::uint64_t key_of_path(std::uint64_t seed, std::string_view path) {
    std::uint64_t key = op::mix(~seed);
    for (const char c : path) {
        key = op::mix(key ^ static_cast<unsigned char>(c));
    }
    return key;
}

/// Makes the rows of a matrix orthogonal and as long as 1, twice by Gram's and Schmidt's procedure, which leaves nothing but rounding. There are at most
/// as many rows as columns.
inline void make_orthogonal(std::vector<double>& m, std::size_t rows, std::size_t columns) {
    const auto product = [&](std::size_t a, std::size_t b) {
        double sum = 0;
        for (std::size_t k = 0; k < columns; ++k) {
            sum += m[a * columns + k] * m[b * columns + k];
        }
        return sum;
    };
    for (std::size_t r = 0; r < rows; ++r) {
        for (int pass = 0; pass < 2; ++pass) {
            for (std::size_t before = 0; before < r; ++before) {
                const double along = product(r, before);
                for (std::size_t k = 0; k < columns; ++k) {
                    m[r * columns + k] -= along * m[before * columns + k];
                }
            }
        }
        const double length = std::sqrt(product(r, r));
        for (std::size_t k = 0; k < columns; ++k) {
            m[r * columns + k] /= length;
        }
    }
}

/// A matrix of `rows` rows with orthogonal rows, or columns where these are fewer, of normal numbers from `first` on.
inline void fill_orthogonal(const parameter_numbers& draw, std::uint64_t first, std::size_t rows, double length,
                            std::span<float> to) {
    const std::size_t columns = to.size() / rows;
    const bool wide = rows <= columns;
    const std::size_t less = wide ? rows : columns;
    const std::size_t more = wide ? columns : rows;
    std::vector<double> m;
    for (std::size_t i = 0; i < to.size(); ++i) {
        m.push_back(draw.normal(first + i));
    }
    make_orthogonal(m, less, more);
    for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t k = 0; k < columns; ++k) {
            to[r * columns + k] = static_cast<float>(length * m[wide ? r * columns + k : k * rows + r]);
        }
    }
}

/// fan_out as PyTorch counts it: what one of the second extent has elements; of a stack of matrices [E,O,I] it is O.
inline index_t fan_out_of(const parameter_node& p) {
    const index_t rows = p.extents.volume() / p.fan_in;
    return p.extents.rank < 2 ? 1 : rows == p.extents[0] ? p.extents.volume() / p.extents[1] : rows / p.extents[0];
}

} // namespace detail

/// Initial values of a parameter, all its elements in row-major order, or the first of them, by parameter_node::initial. Each is a function of the
/// seed, the parameter's path (net/paths.hpp) and its index alone, whatever the strategy and the rest of the network; orthogonal ones of all indices, and
/// they are drawn whole. The usual ones: weights and biases of convolutions and linear layers uniform in +-1/sqrt(fan_in), as in PyTorch; gamma 1 and beta 0 of norms, running
/// mean 0 and running variance 1; tables uniform in +-1/sqrt(their columns).
inline void initialize(const parameter_node& p, std::string_view path, std::uint64_t seed, std::span<float> values) {
    const detail::parameter_numbers draw{detail::key_of_path(seed, path)};
    const auto fan_in = static_cast<double>(p.fan_in);
    const double fans = fan_in + static_cast<double>(detail::fan_out_of(p));
    const auto number = static_cast<double>(p.initial.number);
    const auto all = [&](auto&& at) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = static_cast<float>(at(i));
        }
    };
    switch (p.initial.how) {
    case initial_values::uniform:
        return all([&](std::size_t i) { return draw.within(1 / std::sqrt(fan_in), i); });
    case initial_values::ones:
        return all([](std::size_t) { return 1; });
    case initial_values::zeros:
        return all([](std::size_t) { return 0; });
    case initial_values::moments:
        return all(
            [half = static_cast<std::size_t>(p.extents.volume()) / 2](std::size_t i) { return i < half ? 0 : 1; });
    case initial_values::constant:
        return all([&](std::size_t) { return number; });
    case initial_values::uniform_within:
        return all([&](std::size_t i) { return draw.within(number, i); });
    case initial_values::normal:
        return all([&](std::size_t i) { return number * draw.normal(i); });
    case initial_values::truncated_normal:
        return all([&](std::size_t i) { return number * draw.truncated_normal(i); });
    case initial_values::kaiming_uniform:
        return all([&](std::size_t i) { return draw.within(std::sqrt(6 / fan_in), i); });
    case initial_values::kaiming_normal:
        return all([&](std::size_t i) { return std::sqrt(2 / fan_in) * draw.normal(i); });
    case initial_values::xavier_uniform:
        return all([&](std::size_t i) { return draw.within(std::sqrt(6 / fans), i); });
    case initial_values::xavier_normal:
        return all([&](std::size_t i) { return std::sqrt(2 / fans) * draw.normal(i); });
    case initial_values::orthogonal: {
        const index_t volume = p.extents.volume();
        const index_t all_rows = volume / p.fan_in;
        const index_t matrices = p.extents.rank < 2 || all_rows == p.extents[0] ? 1 : p.extents[0];
        std::vector<float> whole(static_cast<std::size_t>(volume));
        const std::size_t each = whole.size() / static_cast<std::size_t>(matrices);
        for (std::size_t k = 0; k < static_cast<std::size_t>(matrices); ++k) {
            detail::fill_orthogonal(draw, k * each, static_cast<std::size_t>(all_rows / matrices), number,
                                    std::span(whole).subspan(k * each, each));
        }
        return all([&](std::size_t i) { return whole[i]; });
    }
    }
}

/// Of one parameter of a network; for all of them paths_of() finds the paths at once.
inline void initialize(const graph_view& g, int parameter, std::uint64_t seed, std::span<float> values) {
    initialize(g.parameters[parameter], parameter_path_of(g, parameter), seed, values);
}

} // namespace tessera

#include "tessera/base/end_header.inl"
