// SPDX-License-Identifier: Apache-2.0
// What layers take as template arguments besides numbers, and how a layer's attributes are put together of them.
#pragma once

#include "tessera/op/attributes.hpp"

namespace tessera {

// Options of convolutions and pools. One number stands for both height and width.
template <index_t Height, index_t Width = Height>
struct window {
    static constexpr void apply(op_attributes& a) {
        a.window[0] = Height;
        a.window[1] = Width;
    }
};
template <index_t Height, index_t Width = Height>
struct stride {
    static constexpr void apply(op_attributes& a) {
        a.stride[0] = Height;
        a.stride[1] = Width;
    }
};
template <index_t Height, index_t Width = Height>
struct padding {
    static constexpr void apply(op_attributes& a) {
        a.padding[0] = Height;
        a.padding[1] = Width;
    }
};
template <index_t Height, index_t Width = Height>
struct dilation {
    static constexpr void apply(op_attributes& a) {
        a.dilation[0] = Height;
        a.dilation[1] = Width;
    }
};
template <index_t Count>
struct groups {
    static constexpr void apply(op_attributes& a) { a.groups = Count; }
};
struct no_bias {
    static constexpr void apply(op_attributes& a) { a.bias = false; }
};
/// The layer's parameters keep their values.
struct frozen {
    static constexpr void apply(op_attributes& a) { a.frozen = true; }
};
/// Average pools divide by the whole window, also where it reaches into the padding.
struct count_padding {
    static constexpr void apply(op_attributes& a) { a.count_padding = true; }
};
template <int Percent>
struct percent {
    static constexpr void apply(op_attributes& a) { a.percent = Percent; }
};
/// Factor of a loss in the total: Numerator / Denominator.
template <int Numerator, int Denominator = 1>
struct weight {
    static constexpr void apply(op_attributes& a) { a.weight = static_cast<double>(Numerator) / Denominator; }
};

/// matmul: inputs of rank 3 hold the matrices of Count heads side by side in their channels.
template <index_t Count>
struct heads {
    static constexpr void apply(op_attributes& a) { a.heads = Count; }
};
/// matmul: rows and columns of the first or second input change places.
struct transpose_first {
    static constexpr void apply(op_attributes& a) { a.transposed[0] = true; }
};
struct transpose_second {
    static constexpr void apply(op_attributes& a) { a.transposed[1] = true; }
};
/// matmul: the product is divided by the square root of the extent that it sums over (Vaswani et al. 2017, section 3.2.1).
struct scaled {
    static constexpr void apply(op_attributes& a) { a.scaled = true; }
};
/// softmax: a row sees the columns up to its own number.
struct causal {
    static constexpr void apply(op_attributes& a) { a.causal = true; }
};
/// dispatch_mask, combine_weights: every token goes to the Count experts with the largest gates.
template <index_t Count>
struct top {
    static constexpr void apply(op_attributes& a) { a.top = Count; }
};
/// concat, slice: along dimension D of the tensor instead of its channels; 1 is the position in a sequence [N,T,C].
template <int D>
struct axis {
    static_assert(D >= 1, "tessera: samples are neither concatenated nor sliced; the axis is at least 1");
    static constexpr void apply(op_attributes& a) { a.axis = D; }
};

namespace detail {

template <class... Options>
constexpr op_attributes with(op_attributes a) {
    (Options::apply(a), ...);
    return a;
}

template <op_kind Kind, class... Options>
constexpr op_attributes make_attributes(index_t out = 0, bool bias = false) {
    op_attributes a;
    a.kind = Kind;
    a.out = out;
    a.bias = bias;
    return with<Options...>(a);
}

template <op_kind Kind, class... Options>
struct simple_layer {
    static constexpr op_attributes attributes = make_attributes<Kind, Options...>();
};

} // namespace detail

/// Anything with attributes is a layer.
template <class T>
concept Layer = requires {
    T::attributes.kind;
};

} // namespace tessera
