// SPDX-License-Identifier: Apache-2.0
// What layers take as template arguments besides numbers, and how a layer's attributes are put together of them.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/rules.hpp"
#include "tessera/op/attributes.hpp"
#include "tessera/op/number.hpp"

#include <cstddef>

namespace tessera {

// An option sets a member of the layer's own attributes, or what all layers have.

namespace detail {

/// One number for all dimensions, or one for each.
template <index_t First, index_t... More, std::size_t Dimensions>
constexpr void set_dimensions(index_t (&to)[Dimensions]) {
    static_assert(
        sizeof...(More) == 0 || sizeof...(More) + 1 == Dimensions,
        "tessera: window<>, stride<>, padding<> and dilation<> have one number for all dimensions, or one for "
        "each: height and width of images; depth, height and width of volumes");
    constexpr index_t numbers[] = {First, More...};
    for (std::size_t d = 0; d < Dimensions; ++d) {
        to[d] = numbers[d <= sizeof...(More) ? d : 0];
    }
}

} // namespace detail

// Of what has a window: one number for all dimensions, or one for each: height, width, or depth, height, width.

template <index_t First, index_t... More>
struct window {
    template <class Own>
    requires requires(Own& own) { own.window; }
    static constexpr void apply(Own& own) { detail::set_dimensions<First, More...>(own.window); }
};
template <index_t First, index_t... More>
struct stride {
    template <class Own>
    requires requires(Own& own) { own.stride; }
    static constexpr void apply(Own& own) { detail::set_dimensions<First, More...>(own.stride); }
};
template <index_t First, index_t... More>
struct padding {
    template <class Own>
    requires requires(Own& own) { own.padding; }
    static constexpr void apply(Own& own) { detail::set_dimensions<First, More...>(own.padding); }
};
template <index_t First, index_t... More>
struct dilation {
    template <class Own>
    requires requires(Own& own) { own.dilation; }
    static constexpr void apply(Own& own) { detail::set_dimensions<First, More...>(own.dilation); }
};
/// Of channels, that are convolved or normalized apart from each other.
template <index_t Count>
struct groups {
    template <class Own>
    requires requires(Own& own) { own.groups; }
    static constexpr void apply(Own& own) { own.groups = Count; }
};
struct no_bias {
    template <class Own>
    requires requires(Own& own) { own.bias; }
    static constexpr void apply(Own& own) { own.bias = false; }
};
/// The layer's parameters keep their values.
struct frozen {
    static constexpr void apply(op_attributes& a) { a.frozen = true; }
};
/// What the layer's weights (tables, gamma) hold before training, such as initial_weights<initial::kaiming_normal>.
template <class What>
struct initial_weights {
    static constexpr void apply(op_attributes& a) { a.initial[0] = What::rule; }
};
/// What its bias (beta) holds.
template <class What>
struct initial_bias {
    static_assert(!What::of_matrices, "tessera: a bias has no rows and columns; give it constant<>, zeros, ones, "
                                      "uniform_within<>, normal<> or truncated_normal<>");
    static constexpr void apply(op_attributes& a) { a.initial[1] = What::rule; }
};
/// Average pools divide by the whole window, also where it reaches into the padding.
struct count_padding {
    template <class Own>
    requires requires(Own& own) { own.count_padding; }
    static constexpr void apply(Own& own) { own.count_padding = true; }
};
template <int Percent>
struct percent {
    template <class Own>
    requires requires(Own& own) { own.percent; }
    static constexpr void apply(Own& own) { own.percent = Percent; }
};
/// Factor of a loss in the total: Numerator / Denominator.
template <int Numerator, int Denominator = 1>
struct weight {
    static constexpr void apply(op_attributes& a) { a.weight = static_cast<double>(Numerator) / Denominator; }
};
/// matmul: inputs of rank 3 hold the matrices of Count heads side by side in their channels.
template <index_t Count>
struct heads {
    template <class Own>
    requires requires(Own& own) { own.heads; }
    static constexpr void apply(Own& own) { own.heads = Count; }
};
/// Of normalizations: what is added to a variance or a mean of squares; 1e-5 unless said otherwise.
template <number Added>
struct epsilon {
    static_assert(Added.value() > 0, "tessera: the epsilon of a normalization is above 0");
    template <class Own>
    requires requires(Own& own) { own.epsilon; }
    static constexpr void apply(Own& own) { own.epsilon = Added.value(); }
};
/// matmul: rows and columns of the first or second input change places.
struct transpose_first {
    template <class Own>
    requires requires(Own& own) { own.transposed; }
    static constexpr void apply(Own& own) { own.transposed[0] = true; }
};
struct transpose_second {
    template <class Own>
    requires requires(Own& own) { own.transposed; }
    static constexpr void apply(Own& own) { own.transposed[1] = true; }
};
/// matmul: the product is divided by the square root of the extent that it sums over (Vaswani et al. 2017, section
/// 3.2.1).
struct scaled {
    template <class Own>
    requires requires(Own& own) { own.scaled; }
    static constexpr void apply(Own& own) { own.scaled = true; }
};
/// softmax: a row sees the columns up to its own number.
struct causal {
    template <class Own>
    requires requires(Own& own) { own.causal; }
    static constexpr void apply(Own& own) { own.causal = true; }
};
/// dispatch_mask, combine_weights, token_slots: every token goes to the Count experts with the largest gates; keep_top:
/// so many stay.
template <index_t Count>
struct top {
    template <class Own>
    requires requires(Own& own) { own.top; }
    static constexpr void apply(Own& own) { own.top = Count; }
};
/// token_slots: an expert takes Slots tokens of a sample; others that choose it are dropped.
template <index_t Slots>
struct capacity {
    template <class Own>
    requires requires(Own& own) { own.slots; }
    static constexpr void apply(Own& own) { own.slots = Slots; }
};
/// token_slots: an expert takes Factor times the tokens that it would have if all had as many, rounded up.
template <number Factor>
struct capacity_factor {
    template <class Own>
    requires requires(Own& own) { own.factor; }
    static constexpr void apply(Own& own) { own.factor = Factor.value(); }
};
/// token_slots: an expert has room for all tokens of a sample, so that none is dropped. Memory and messages are those
/// of full experts, and on CUDA the products; on the host and in the reference these are of what arrives.
struct no_drop {
    template <class Own>
    requires requires(Own& own) { own.all; }
    static constexpr void apply(Own& own) { own.all = true; }
};
/// keep_top: what is kept is divided by its sum.
struct normalized {
    template <class Own>
    requires requires(Own& own) { own.normalized; }
    static constexpr void apply(Own& own) { own.normalized = true; }
};
/// position_embedding: its table has Count rows, of which shorter sequences take the first.
template <index_t Count>
struct rows {
    static_assert(Count >= 1, "tessera: a table has at least 1 row");
    template <class Own>
    requires requires(Own& own) { own.rows; }
    static constexpr void apply(Own& own) { own.rows = Count; }
};
/// concat, slice: along dimension D of the tensor instead of its channels; 1 is the position in a sequence [N,T,C].
template <int D>
struct axis {
    static_assert(D >= 1, "tessera: samples are neither concatenated nor sliced; the axis is at least 1");
    template <class Own>
    requires requires(Own& own) { own.axis; }
    static constexpr void apply(Own& own) { own.axis = D; }
};

/// pad: so many zeros before and behind dimension D of the tensor (2 is the height of [N,C,H,W]).
template <int D, index_t Before, index_t After = Before>
struct margin {
    static_assert(D >= 1 && D < max_rank,
                  "tessera: samples are not padded, and a tensor has at most 5 dimensions; pad 1 to 4");
    template <class Own>
    requires requires(Own& own) { own.before; }
    static constexpr void apply(Own& own) {
        own.before[D] = Before;
        own.after[D] = After;
    }
};
/// crop: of dimension D of the tensor, Count indices from Begin.
template <int D, index_t Begin, index_t Count>
struct keep {
    static_assert(D >= 1 && D < max_rank,
                  "tessera: samples are not cropped, and a tensor has at most 5 dimensions; crop 1 to 4");
    static_assert(Count >= 1, "tessera: a crop keeps at least 1 index of a dimension");
    template <class Own>
    requires requires(Own& own) {
        own.begin[D];
        own.out[D];
    }
    static constexpr void apply(Own& own) {
        own.begin[D] = Begin;
        own.out[D] = Count;
    }
};

/// roll: dimension D of the tensor by Count indices, upwards, or downwards where it is negative.
template <int D, index_t Count>
struct shift {
    static_assert(D >= 1 && D < max_rank,
                  "tessera: samples are not rolled, and a tensor has at most 5 dimensions; roll 1 to 4");
    static_assert(Count != 0, "tessera: a roll shifts a dimension by at least 1 index");
    template <class Own>
    requires requires(Own& own) { own.shift[D]; }
    static constexpr void apply(Own& own) { own.shift[D] = Count; }
};

namespace detail {

/// Of a layer without attributes of its own.
struct no_attributes {
    index_t none = 0;
};

template <class Option>
constexpr bool is_common = requires(op_attributes& a) {
    Option::apply(a);
};
template <class Option, class Own>
constexpr bool is_own = requires(Own& own) {
    Option::apply(own);
};

template <class Option, class Own>
constexpr void apply_option(op_attributes& a, Own& own) {
    if constexpr (is_own<Option, Own>) {
        Option::apply(own);
    } else if constexpr (is_common<Option>) {
        Option::apply(a);
    } else {
        static_assert(never<Option, Own>, "tessera: the layer does not take this option");
    }
}

/// Attributes with options put on them, from left to right.
template <op_kind Kind, class... Options, class Own>
constexpr op_attributes make_attributes(Own own) {
    op_attributes a{.kind = Kind};
    (apply_option<Options>(a, own), ...);
    a.set(own);
    return a;
}

/// A layer whose own attributes are what they are by themselves, but for the options.
template <op_kind Kind, class Own, class... Options>
struct layer_with {
    static constexpr op_attributes attributes = make_attributes<Kind, Options...>(Own{});
};
template <op_kind Kind, class... Options>
struct simple_layer : layer_with<Kind, no_attributes, Options...> {};

} // namespace detail

/// Anything with attributes is a layer.
template <class T>
concept Layer = requires {
    T::attributes.kind;
};

} // namespace tessera

#include "tessera/base/end_header.inl"
