// SPDX-License-Identifier: Apache-2.0
// AmoebaNet-D (Real et al. 2019) as GPipe used it (Huang et al. 2019, table 1): L normal cells and D filters.
#pragma once

#include "tessera/net/network.hpp"

namespace networks {

namespace ts = tessera;

/// A cell computes on its predecessor's result (state 0) and on that of the cell before (state 1), both brought to C
/// channels; five sums of two operations on earlier states are its further states, and some of the states,
/// concatenated, its result. The operations are those of the paper's figure; of which states a normal cell
/// concatenates, the paper (the last three) and the authors' public TensorFlow code (0, 3, 4 and 6) differ, and only
/// the latter has the parameters of GPipe's table.
template <ts::index_t C>
struct amoebanet_cell {
    template <int Place, ts::index_t Out, class... Options>
    struct conv : ts::conv2d<Out, ts::no_bias, Options...> {};
    template <int Place>
    struct norm : ts::batch_norm<> {};
    /// Relu, convolution, batch norm.
    template <int Place, ts::index_t Out, class... Options>
    using step = ts::branch<ts::relu, conv<Place, Out, Options...>, norm<Place>>;

    template <int Place, int S>
    using wide =
        ts::branch<step<Place, C / 4>, step<Place + 1, C / 4, ts::window<1, 7>, ts::stride<1, S>, ts::padding<0, 3>>,
                   step<Place + 2, C / 4, ts::window<7, 1>, ts::stride<S, 1>, ts::padding<3, 0>>, step<Place + 3, C>>;
    template <int Place, int S>
    using three = ts::branch<step<Place, C / 4>, step<Place + 1, C / 4, ts::window<3>, ts::stride<S>, ts::padding<1>>,
                             step<Place + 2, C>>;
    template <int S>
    using maximum = ts::branch<ts::max_pool<3, ts::stride<S>, ts::padding<1>>>;
    using average = ts::branch<ts::average_pool<3, ts::stride<1>, ts::padding<1>>>;
    using halved = ts::branch<ts::max_pool<2>>;
    using same = ts::branch<>;
    /// Half of the channels from the even pixels, half from the odd ones.
    template <ts::index_t Rows>
    using factorized =
        ts::branch<ts::relu,
                   ts::branches<ts::concat, ts::branch<conv<0, C / 2, ts::stride<2>>>,
                                ts::branch<ts::slice<1, Rows - 1, ts::axis<2>>, ts::slice<1, Rows - 1, ts::axis<3>>,
                                           conv<1, C / 2, ts::stride<2>>>>,
                   norm<0>>;

    template <class First, class Second>
    static constexpr int sum(ts::graph_builder& b, int x, int y) {
        const int first = ts::detail::append<First>(b, x);
        return ts::detail::apply_layer<ts::add>(b, first, ts::detail::append<Second>(b, y));
    }
    static constexpr int join(ts::graph_builder& b, const int* states, int count) {
        return b.refused ? -1
                         : b.add_op(ts::concat::attributes, "concat", ts::key_of<ts::concat>, false, states, count);
    }

    static constexpr int normal(ts::graph_builder& b, int first, int second) {
        int s[7] = {ts::detail::append<step<2, C>>(b, first), second};
        s[2] = sum<step<3, C>, maximum<1>>(b, s[1], s[1]);
        s[3] = sum<same, wide<4, 1>>(b, s[1], s[0]);
        s[4] = sum<step<8, C>, wide<9, 1>>(b, s[0], s[0]);
        s[5] = sum<maximum<1>, same>(b, s[2], s[2]);
        s[6] = sum<average, step<13, C>>(b, s[1], s[5]);
        const int result[] = {s[0], s[3], s[4], s[6]};
        return join(b, result, 4);
    }
    static constexpr int reduction(ts::graph_builder& b, int first, int second) {
        int s[7] = {ts::detail::append<step<2, C>>(b, first), second};
        s[2] = sum<halved, maximum<2>>(b, s[0], s[0]);
        s[3] = sum<same, three<3, 2>>(b, s[2], s[1]);
        s[4] = sum<wide<6, 1>, maximum<1>>(b, s[2], s[2]);
        s[5] = sum<same, halved>(b, s[3], s[1]);
        s[6] = sum<average, step<10, C>>(b, s[2], s[3]);
        return join(b, s + 4, 3);
    }
};

/// The cells between the stem's convolution and the classifier: two reductions, three times L / 3 normal cells, a
/// reduction between.
/// Rows: of the images.
template <int L, ts::index_t D, ts::index_t Rows>
struct amoebanet_cells {
    static_assert(L % 3 == 0 && D % 8 == 0 && Rows % 32 == 0,
                  "cells come in threes, filters in eights, and rows halve five times");
    /// Of a normal cell 45 and of a reduction 38, and what brings the second state to C channels: 7 behind a reduction,
    /// else 3.
    static constexpr int op_count = L * (45 + 3) + 3 * (7 - 3) + 4 * (38 + 3) + (7 - 3);
    template <int>
    static constexpr auto nth() {
        return ts::detail::identity<amoebanet_cells>{};
    }
    static constexpr int build(ts::graph_builder& b, int tensor) {
        ++b.repeating;
        state s{tensor, tensor, D / 4, false};
        s = reduce<D / 2, Rows / 2>(b, s);
        s = reduce<D, Rows / 4>(b, s);
        s = normal<D, Rows / 8>(b, s);
        s = reduce<2 * D, Rows / 8>(b, s);
        s = normal<2 * D, Rows / 16>(b, s);
        s = reduce<4 * D, Rows / 16>(b, s);
        s = normal<4 * D, Rows / 32>(b, s);
        --b.repeating;
        return s.now;
    }

private:
    struct state {
        int now, before;
        ts::index_t channels; ///< of the cell before
        bool reduced;         ///< by the cell before, whose predecessor has twice the rows
    };
    /// The result of the cell before, with C channels and Rows rows.
    template <ts::index_t C, ts::index_t Rows_>
    static constexpr int second(ts::graph_builder& b, const state& s) {
        using cell = amoebanet_cell<C>;
        if (b.refused) {
            return -1;
        }
        if (s.reduced) {
            return ts::detail::append<typename cell::template factorized<2 * Rows_>>(b, s.before);
        }
        return b.tensors[s.before].extents[1] == C
                   ? s.before
                   : ts::detail::append<typename cell::template step<1, C>>(b, s.before);
    }
    template <ts::index_t C, ts::index_t Rows_>
    static constexpr state reduce(ts::graph_builder& b, const state& s) {
        const int other = second<C, Rows_>(b, s);
        return {amoebanet_cell<C>::reduction(b, s.now, other), s.now, C, true};
    }
    template <ts::index_t C, ts::index_t Rows_>
    static constexpr state normal(ts::graph_builder& b, state s) {
        for (int i = 0; i < L / 3; ++i) {
            const int other = second<C, Rows_>(b, s);
            s = {amoebanet_cell<C>::normal(b, s.now, other), s.now, C, false};
        }
        return s;
    }
};

template <int L, ts::index_t D, ts::index_t Rows = 224, ts::index_t Classes = 1000>
struct amoebanet_parts {
    struct stem : ts::conv2d<D / 4, ts::window<3>, ts::stride<2>, ts::padding<1>, ts::no_bias> {};
    struct stem_norm : ts::batch_norm<> {};
    struct classifier : ts::linear<Classes> {};
    using network = ts::sequential<ts::image<3, Rows, Rows>, stem, stem_norm, amoebanet_cells<L, D, Rows>,
                                   ts::global_average_pool, classifier, ts::cross_entropy>;
};
template <int L, ts::index_t D>
struct amoebanet_d : amoebanet_parts<L, D>::network {};

} // namespace networks
