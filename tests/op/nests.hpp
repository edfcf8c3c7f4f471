// SPDX-License-Identifier: Apache-2.0
// Operators that tests write as loop nests: what bodies may say, and norms that the library has by hand.
#pragma once

#include "op/table.hpp"
#include "tessera/op/length_mask.hpp"
#include "tessera/op/nest/record.hpp"
#include "tessera/op/reduce.hpp"

namespace tests::nests {

/// The root mean square of a row, with a gain.
struct rms : ts::operation<rms> {
    static constexpr void body(auto& w) {
        const auto [n, c] = w.loops(sample, channel);
        const auto x = w.input(n, c);
        const auto gamma = w.parameter(ones, c);
        w.output(n, c) = x * rsqrt(w.mean(c, x * x) + 1e-5) * gamma;
    }
};
/// Layer norm, of rows and of sequences: three nests.
struct layer : ts::operation<layer> {
    static constexpr int ranks[] = {2, 3};
    static constexpr void body(auto& w) {
        const auto all = w.dimensions();
        const auto c = all.last();
        const auto x = w.input(all);
        const auto gamma = w.parameter(ones, c);
        const auto beta = w.parameter(zeros, c);
        const auto centered = x - w.mean(c, x);
        w.output(all) = centered * rsqrt(w.mean(c, square(centered)) + 1e-5) * gamma + beta;
    }
};
/// Softmax over the last dimension, its maximum without gradient.
struct soft_max : ts::operation<soft_max> {
    static constexpr int ranks[] = {2, 4};
    static constexpr void body(auto& w) {
        const auto all = w.dimensions();
        const auto x = w.input(all);
        const auto e = exp(x - stop_gradient(w.max(all.last(), x)));
        w.output(all) = e / w.sum(all.last(), e);
    }
};
/// y[n,o] = sum over i and j of x[n,i] W[o,i,j] z[n,j].
template <int Out>
struct product : ts::operation<product<Out>> {
    using names = ts::nests::names;
    static constexpr void body(auto& w) {
        const auto [n, i, j] = w.loops(names::sample, names::reduction, names::group_channel);
        const auto x = w.input(n, i);
        const auto z = w.input(n, j);
        const auto o = w.loop(names::channel, Out);
        const auto weight = w.parameter(names::uniform, o, i, j);
        w.output(n, o) = w.sum({i, j}, x * weight * z);
    }
};
/// All in one line: compilers evaluate the output's place and the parameter before the input that gives the loops their
/// extents, or after it.
struct one_line : ts::operation<one_line> {
    static constexpr void body(auto& w) {
        const auto [n, c] = w.loops(sample, channel);
        w.output(n, c) = w.parameter(ones, c) * w.input(n, c);
    }
};
/// Pairs of channels turned by an angle that grows with the position.
struct turned : ts::operation<turned> {
    static constexpr void body(auto& w) {
        const auto [n, t] = w.loops(sample, position);
        const auto pair = w.loop(channel, w.extent(0, 2) / 2);
        const auto to = w.window(tap_height, 2);
        const auto from = w.window(tap_width, 2);
        const auto x = w.input(n, t, 2 * pair + from);
        const auto angle = w.index(t) * exp(w.index(pair) / w.size(pair) * -9.210340371976184);
        const auto r = w.index(to);
        const auto turn = select(r == w.index(from), cos(angle), select(r == 0, -sin(angle), sin(angle)));
        w.output(n, t, 2 * pair + to) = w.sum(from, x * turn);
    }
};
/// The largest number over positions, and the mean.
struct largest : ts::operation<largest> {
    static constexpr void body(auto& w) {
        const auto [n, t, c] = w.loops(sample, position, channel);
        const auto x = w.input(n, t, c);
        w.output(n, c) = w.max(t, x) + w.mean(t, x) * 0.5;
    }
};
/// A sum over positions: linear, one nest.
struct summed : ts::operation<summed> {
    static constexpr void body(auto& w) {
        const auto [n, t, c] = w.loops(sample, position, channel);
        const auto x = w.input(n, t, c);
        w.output(n, c) = w.sum(t, x / w.size(t));
    }
};
/// A depthwise convolution of sequences, with zeros around them.
template <int Window>
struct depthwise : ts::operation<depthwise<Window>> {
    using names = ts::nests::names;
    static constexpr void body(auto& w) {
        const auto [n, c] = w.loops(names::sample, names::channel);
        const auto t = w.loop(names::position, w.extent(0, 1));
        const auto k = w.window(names::window_width, Window);
        const auto x = w.input(n, t + k - Window / 2, c);
        const auto weight = w.parameter(names::uniform, c, k);
        w.output(n, t, c) = w.sum(k, x * weight);
    }
};
/// Two sums over different loops: of a row, and of a second input, which what comes out divides by.
struct balanced : ts::operation<balanced> {
    static constexpr void body(auto& w) {
        const auto [n, c, j] = w.loops(sample, channel, reduction);
        const auto x = w.input(n, c);
        const auto z = w.input(n, j);
        const auto s = w.sum(c, x * x);
        const auto both = w.sum(j, z * s);
        w.output(n, c) = (x * both + s) / (2 + s);
    }
};

inline const std::vector<op_case>& table() {
    using ts::make_shape;
    static const std::vector<op_case> all = {
        {"nests: rms", rms::attributes, {make_shape(4, 6)}},
        {"nests: layer norm", layer::attributes, {make_shape(5, 7)}},
        {"nests: layer norm of sequences", layer::attributes, {make_shape(3, 2, 6)}},
        {"nests: softmax", soft_max::attributes, {make_shape(4, 6)}},
        {"nests: softmax of heads", soft_max::attributes, {make_shape(2, 2, 3, 4)}},
        {"nests: bilinear", product<3>::attributes, {make_shape(4, 5), make_shape(4, 2)}},
        {"nests: turned", turned::attributes, {make_shape(3, 5, 4)}},
        {"nests: largest", largest::attributes, {make_shape(3, 5, 4)}},
        {"nests: summed", summed::attributes, {make_shape(3, 5, 4)}},
        {"nests: depthwise", depthwise<3>::attributes, {make_shape(2, 6, 4)}},
        {"sum over rows and columns", ts::sum_over<2, 3>::attributes, {make_shape(2, 3, 3, 2)}},
        {"mean over positions, kept", ts::mean_over_kept<1>::attributes, {make_shape(3, 4, 5)}},
        {"mean over features", ts::mean_over<1>::attributes, {make_shape(3, 5)}},
        {"max over channels and columns", ts::max_over<1, 3>::attributes, {make_shape(2, 3, 2, 3)}},
        {"min over positions", ts::min_over<1>::attributes, {make_shape(3, 4, 5)}},
        {"mask of lengths", ts::length_mask<4>::attributes, {make_shape(5)}},
        {"nests: balanced", balanced::attributes, {make_shape(4, 5), make_shape(4, 3)}},
    };
    return all;
}

/// Those of the library, and these.
inline const std::vector<op_case>& every_row() {
    static const std::vector<op_case> all = [] {
        std::vector<op_case> rows = op_table();
        rows.insert(rows.end(), table().begin(), table().end());
        return rows;
    }();
    return all;
}

} // namespace tests::nests
