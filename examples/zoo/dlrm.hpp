// SPDX-License-Identifier: Apache-2.0
// DLRM (Naumov et al. 2019): tables of categories, a perceptron for numbers, the products of all pairs of their
// vectors, another perceptron.
#pragma once

#include "tessera/net/dag.hpp"
#include "tessera/net/network.hpp"

#include <utility>

namespace networks {

namespace ts = tessera;

/// An entry of a dag: from vectors [N,1,C], called From, the first of them and the products of every pair (those below
/// the diagonal of the matrix of all products), side by side: [N, C + n * (n - 1) / 2].
template <class Name, class... From>
struct dot_interaction {
    static constexpr int count = static_cast<int>(sizeof...(From));
    static_assert(count >= 2, "there are pairs of at least two vectors");
    /// Concatenations that put `count` tensors together, at most max_inputs at a time.
    static constexpr int joins() {
        int all = 0;
        for (int n = count; n > 1; n = (n + ts::max_inputs - 1) / ts::max_inputs) {
            all += n / ts::max_inputs + (n % ts::max_inputs > 1 ? 1 : 0);
        }
        return all;
    }
    static constexpr int op_count = 2 * joins() + 2 * (count - 1) + 2;
    template <int>
    static constexpr auto nth() {
        return ts::detail::identity<Name>{};
    }
    static constexpr void append_to(ts::graph_builder& b) {
        int vectors[] = {b.find_tap(ts::key_of<From>)...};
        for (const int v : vectors) {
            if (v < 0 && !b.refused) {
                b.refused_at = ts::type_name<Name>();
                b.fail({ts::rule::unknown_node, 0, -1, 0, 1});
            }
        }
        int parts[count] = {vectors[0]};
        using products = ts::matmul<ts::transpose_second>;
        const int all = join<ts::concat_along<1>>(b, vectors);
        const int square = ts::detail::apply_layer<products>(b, all, all);
        for (int i = 1; i < count && !b.refused; ++i) {
            const int row = slice(b, square, i, 1, 1);
            parts[i] = slice(b, row, 0, i, -1);
        }
        const int flat = ts::detail::append<ts::flatten>(b, join<ts::concat>(b, parts));
        b.add_tap(ts::key_of<Name>, ts::type_name<Name>(), flat, ts::rule::node_named_twice);
    }

private:
    static constexpr int slice(ts::graph_builder& b, int x, ts::index_t begin, ts::index_t size, int axis) {
        const ts::op_attributes a = ts::attributes_of(ts::op_kind::slice, ts::op::slice_attributes{begin, size, axis});
        return b.refused ? -1 : b.add_op(a, "pairs", ts::key_of<dot_interaction>, false, &x, 1);
    }
    template <class Join>
    static constexpr int join(ts::graph_builder& b, int (&x)[ts::to_size(count)]) {
        for (int n = count; n > 1 && !b.refused; n = (n + ts::max_inputs - 1) / ts::max_inputs) {
            for (int first = 0; first < n; first += ts::max_inputs) {
                const int some = n - first < ts::max_inputs ? n - first : ts::max_inputs;
                x[first / ts::max_inputs] =
                    some == 1 ? x[first]
                              : b.add_op(Join::attributes, "concat", ts::key_of<Join>, false, x + first, some);
            }
        }
        return x[0];
    }
};

/// One table of Width columns for each of Rows, Dense numbers. (The published network ends in one logit and a sigmoid;
/// here in two classes.)
/// Inputs: numbers, feature<0>, ..., truth.
template <ts::index_t Dense, ts::index_t Width, ts::index_t... Rows>
struct dlrm_parts {
    struct numbers;
    struct truth;
    struct bottom;
    struct pairs;
    struct scores;
    struct loss;
    template <int Table>
    struct feature;
    template <int Table>
    struct vector;
    template <ts::index_t Count>
    struct table : ts::embedding<Count, Width> {};
    template <int Place, ts::index_t Out>
    struct fc : ts::linear<Out> {};

    template <class Indices>
    struct with;
    template <int... Table>
    struct with<std::integer_sequence<int, Table...>> {
        using network = ts::dag<ts::input<numbers, ts::sequence<1, Dense>>, ts::input<feature<Table>, ts::tokens<1>>...,
                                ts::input<truth, ts::labels>,
                                ts::chain<bottom, numbers, fc<0, 512>, ts::relu, fc<1, 256>, ts::relu, fc<2, 64>,
                                          ts::relu, fc<3, Width>, ts::relu>,
                                ts::node<vector<Table>, table<Rows>, feature<Table>>...,
                                dot_interaction<pairs, bottom, vector<Table>...>,
                                ts::chain<scores, pairs, fc<4, 512>, ts::relu, fc<5, 256>, ts::relu, fc<6, 2>>,
                                ts::node<loss, ts::cross_entropy, scores, truth>>;
    };
    using network = typename with<std::make_integer_sequence<int, static_cast<int>(sizeof...(Rows))>>::network;
};

/// For the 13 numbers and 26 categories of the Criteo Kaggle data: the paper's 540 million parameters.
struct dlrm_kaggle
    : dlrm_parts<13, 16, 1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194, 27, 14992,
                 5461306, 10, 5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572>::network {};

} // namespace networks
