// SPDX-License-Identifier: Apache-2.0
// Convolutions and pools along the positions of sequences [N,T,C]: those of images with one row, between two
// permutations.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/network.hpp"
#include "tessera/op/conv2d.hpp"
#include "tessera/op/permute.hpp"
#include "tessera/op/pool.hpp"
#include "tessera/op/reshape.hpp"

namespace tessera {

namespace detail {

/// Attributes with options put on them as for an image, whose height is then let alone.
template <op_kind Kind, class... Options, class Own>
constexpr op_attributes along_positions(Own own) {
    op_attributes a = make_attributes<Kind, Options...>(own);
    own = a.as<Own>();
    own.window[0] = own.stride[0] = own.dilation[0] = 1;
    own.padding[0] = 0;
    a.set(own);
    return a;
}

/// A layer of one dimension: [N,T,C] -> [N,C,1,T], the operator, whose width are the positions, and the way back. A
/// layer derived from it is in strategies and messages the operator.
template <class Own>
struct one_dimension {
    struct to_row : permute<0, 2, 1> {};
    struct from_row : permute<0, 2, 1> {};
    struct as_row;
    struct as_sequence;

    static constexpr int op_count = 5;
    template <int I, class L>
    static constexpr auto nth_as() {
        return identity<L>{};
    }
    template <class L>
    static constexpr int build_as(graph_builder& b, int tensor) {
        b.refused_at = name_of_layer<L>().own;
        if (b.tensors[tensor].extents.rank != 3) {
            return b.fail({rule::input_has_wrong_rank, 0, -1, b.tensors[tensor].extents.rank, 3});
        }
        const index_t channels = b.tensors[tensor].extents[2];
        tensor = add(b, permute<0, 2, 1>::attributes, "to_row", key_of<to_row>, tensor);
        tensor = add(b, attributes_of(op_kind::reshape, op::reshape_attributes{{channels, 1, -1}, 3}), "as_row",
                     key_of<as_row>, tensor);
        tensor = b.add_op(Own::of_row, name_of_layer<L>(), key_of<L>, false, &tensor, 1);
        if (b.refused) {
            return -1;
        }
        tensor = add(b, attributes_of(op_kind::reshape, op::reshape_attributes{{b.tensors[tensor].extents[1], -1}, 2}),
                     "as_sequence", key_of<as_sequence>, tensor);
        return add(b, permute<0, 2, 1>::attributes, "from_row", key_of<from_row>, tensor);
    }

private:
    static constexpr int add(graph_builder& b, const op_attributes& a, const char* name, type_key key, int tensor) {
        return b.add_op(a, name, key, false, &tensor, 1);
    }
};

} // namespace detail

/// conv1d<output channels, window<>, stride<>, padding<>, dilation<>, groups<>, no_bias, frozen>: [N,T,C] ->
/// [N,T',Out], weights [Out,C/groups,1,window]. Strategies split its sample, channel, width (the positions, with a
/// halo) and reduction.
template <index_t Out, class... Options>
struct conv1d : detail::one_dimension<conv1d<Out, Options...>> {
    static constexpr op_attributes of_row =
        detail::along_positions<op_kind::conv2d, Options...>(op::conv2d_attributes{.out = Out, .bias = true});
};
/// max_pool1d<window, stride<>, padding<>>: [N,T,C] -> [N,T',C]; the stride is the window unless said otherwise.
template <index_t Window, class... Options>
struct max_pool1d : detail::one_dimension<max_pool1d<Window, Options...>> {
    static constexpr op_attributes of_row = detail::along_positions<op_kind::max_pool, Options...>(
        op::pool_attributes{.window = {Window, Window}, .stride = {Window, Window}});
};
/// average_pool1d<window, stride<>, padding<>, count_padding>.
template <index_t Window, class... Options>
struct average_pool1d : detail::one_dimension<average_pool1d<Window, Options...>> {
    static constexpr op_attributes of_row = detail::along_positions<op_kind::average_pool, Options...>(
        op::average_pool_attributes{.window = {Window, Window}, .stride = {Window, Window}});
};

} // namespace tessera

#include "tessera/base/end_header.inl"
