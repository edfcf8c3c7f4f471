// SPDX-License-Identifier: Apache-2.0
// Bodies of initialize.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/initialize.hpp"

namespace tessera::detail {

TESSERA_INLINE double parameter_numbers::unit(std::uint64_t i) const {
    return static_cast<double>(op::mix(key ^ i) >> 40U) / static_cast<double>(1U << 24U);
}

TESSERA_INLINE double parameter_numbers::normal(std::uint64_t i) const {
    constexpr double pi = 3.14159265358979323846;
    const std::uint64_t first = op::mix(op::mix(key ^ i) + 1);
    const double u = static_cast<double>((first >> 11U) + 1) / 9007199254740992.0; // in (0, 1]
    const double v = static_cast<double>(op::mix(first) >> 11U) / 9007199254740992.0;
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * pi * v);
}

TESSERA_INLINE double parameter_numbers::truncated_normal(std::uint64_t i) const {
    parameter_numbers again = *this;
    double x = normal(i);
    while (x < -2 || x > 2) {
        again.key = op::mix(again.key + 1);
        x = again.normal(i);
    }
    return x;
}

TESSERA_INLINE std::uint64_t key_of_path(std::uint64_t seed, std::string_view path) {
    std::uint64_t key = op::mix(~seed);
    for (const char c : path) {
        key = op::mix(key ^ static_cast<unsigned char>(c));
    }
    return key;
}

TESSERA_INLINE void make_orthogonal(std::vector<double>& m, std::size_t rows, std::size_t columns) {
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

TESSERA_INLINE void fill_orthogonal(const parameter_numbers& draw, std::uint64_t first, std::size_t rows, double length,
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

TESSERA_INLINE index_t fan_out_of(const parameter_node& p) {
    const index_t rows = p.extents.volume() / p.fan_in;
    return p.extents.rank < 2 ? 1 : rows == p.extents[0] ? p.extents.volume() / p.extents[1] : rows / p.extents[0];
}

} // namespace tessera::detail

namespace tessera {

TESSERA_INLINE void initialize(const parameter_node& p, std::string_view path, std::uint64_t seed,
                               std::span<float> values) {
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
        return all([half = to_size(p.extents.volume()) / 2](std::size_t i) { return i < half ? 0 : 1; });
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
        std::vector<float> whole(to_size(volume));
        const std::size_t each = whole.size() / to_size(matrices);
        for (std::size_t k = 0; k < to_size(matrices); ++k) {
            detail::fill_orthogonal(draw, k * each, to_size(all_rows / matrices), number,
                                    std::span(whole).subspan(k * each, each));
        }
        return all([&](std::size_t i) { return whole[i]; });
    }
    }
}

TESSERA_INLINE void initialize(const graph_view& g, int parameter, std::uint64_t seed, std::span<float> values) {
    initialize(g.parameters[parameter], parameter_path_of(g, parameter), seed, values);
}

} // namespace tessera

#include "tessera/base/end_header.inl"
