// SPDX-License-Identifier: Apache-2.0
// Operators as types: what a user derives layers from.
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

constexpr op_attributes make_embedding(index_t vocabulary, index_t out) {
    op_attributes a;
    a.kind = op_kind::embedding;
    a.vocabulary = vocabulary;
    a.out = out;
    return a;
}

constexpr op_attributes make_slice(index_t begin, index_t count) {
    op_attributes a;
    a.kind = op_kind::slice;
    a.begin = begin;
    a.out = count;
    return a;
}

template <op_kind Kind, class... Options>
constexpr op_attributes make_attributes(index_t out = 0, bool bias = false) {
    op_attributes a;
    a.kind = Kind;
    a.out = out;
    a.bias = bias;
    (Options::apply(a), ...);
    return a;
}

constexpr op_attributes make_pool(op_kind kind, index_t height, index_t width) {
    op_attributes a;
    a.kind = kind;
    a.window[0] = a.stride[0] = height;
    a.window[1] = a.stride[1] = width;
    return a;
}

template <class... Options>
constexpr op_attributes with(op_attributes a) {
    (Options::apply(a), ...);
    return a;
}

struct weighted {
    static constexpr void apply(op_attributes& a) { a.weighted = true; }
};

template <op_kind Kind, class... Options>
struct simple_layer {
    static constexpr op_attributes attributes = make_attributes<Kind, Options...>();
};

} // namespace detail

/// conv2d<output channels, window<>, stride<>, padding<>, dilation<>, groups<>, no_bias, frozen>: [N,C,H,W] -> [N,Out,H',W'].
template <index_t Out, class... Options>
struct conv2d {
    static constexpr op_attributes attributes = detail::make_attributes<op_kind::conv2d, Options...>(Out, true);
};
/// transposed_conv2d<output channels, window<>, stride<>, padding<>, no_bias, frozen>: [N,C,H,W] -> [N,Out,(H-1)*stride-2*padding+window,..],
/// the gradient of a convolution's input as an operator (U-Net's up-convolution is window<2>, stride<2>).
template <index_t Out, class... Options>
struct transposed_conv2d {
    static constexpr op_attributes attributes =
        detail::make_attributes<op_kind::transposed_conv2d, Options...>(Out, true);
};
/// linear<output features, no_bias, frozen>: [N,I] -> [N,Out], or [N,T,I] -> [N,T,Out].
template <index_t Out, class... Options>
struct linear {
    static constexpr op_attributes attributes = detail::make_attributes<op_kind::linear, Options...>(Out, true);
};
/// max_pool<window, stride<>, padding<>>; the stride is the window unless said otherwise.
template <index_t Window, class... Options>
struct max_pool {
    static constexpr op_attributes attributes =
        detail::with<Options...>(detail::make_pool(op_kind::max_pool, Window, Window));
};
/// average_pool<window, stride<>, padding<>, count_padding>.
template <index_t Window, class... Options>
struct average_pool {
    static constexpr op_attributes attributes =
        detail::with<Options...>(detail::make_pool(op_kind::average_pool, Window, Window));
};
/// [N,C,H,W] -> [N,C].
struct global_average_pool : detail::simple_layer<op_kind::global_average_pool> {};
struct relu : detail::simple_layer<op_kind::relu> {};
struct sigmoid : detail::simple_layer<op_kind::sigmoid> {};
struct tanh : detail::simple_layer<op_kind::tanh> {};
/// x * Phi(x), with the normal distribution function itself, not an approximation.
struct gelu : detail::simple_layer<op_kind::gelu> {};
struct add : detail::simple_layer<op_kind::add> {};
struct multiply : detail::simple_layer<op_kind::multiply> {};
/// Along the channels.
struct concat : detail::simple_layer<op_kind::concat> {};
/// concat_along<axis>: along another dimension.
template <int Axis>
struct concat_along : detail::simple_layer<op_kind::concat, axis<Axis>> {};
/// slice<begin, count, axis<>>: indices [Begin, Begin + Count) of the channels, or of another dimension.
template <index_t Begin, index_t Count, class... Options>
struct slice {
    static constexpr op_attributes attributes = detail::with<Options...>(detail::make_slice(Begin, Count));
};
/// [N,C,H,W] -> [N,C*H*W].
struct flatten : detail::simple_layer<op_kind::flatten> {};
/// Drops elements, and scales the others up; which ones is a function of the global index, the layer, the seed and the step.
template <int Percent>
struct dropout : detail::simple_layer<op_kind::dropout, percent<Percent>> {};
/// Drops whole channels of a sample.
template <int Percent>
struct channel_dropout : detail::simple_layer<op_kind::channel_dropout, percent<Percent>> {};
/// batch_norm<frozen>: statistics over the global batch in training, running ones in evaluation.
template <class... Options>
struct batch_norm : detail::simple_layer<op_kind::batch_norm, Options...> {};
/// layer_norm<frozen>: over the channels, [N,C] or [N,T,C].
template <class... Options>
struct layer_norm : detail::simple_layer<op_kind::layer_norm, Options...> {};
/// softmax<causal>: over the last dimension.
template <class... Options>
struct softmax : detail::simple_layer<op_kind::softmax, Options...> {};
/// matmul<heads<>, transpose_first, transpose_second, scaled>: [N,M,K] x [N,K,P] -> [N,M,P], see op/matmul.hpp.
template <class... Options>
struct matmul : detail::simple_layer<op_kind::matmul, Options...> {};
/// embedding<vocabulary, output features, frozen>: tokens [N] or [N,T] -> [N,Out] or [N,T,Out].
template <index_t Vocabulary, index_t Out, class... Options>
struct embedding {
    static constexpr op_attributes attributes = detail::with<Options...>(detail::make_embedding(Vocabulary, Out));
};
/// Adds a trained vector to every position of a sequence: [N,T,C].
template <class... Options>
struct position_embedding : detail::simple_layer<op_kind::position_embedding, Options...> {};
/// dispatch_mask<slots, top<k>>: gates [N,T,Experts] -> [N,T,Experts*Slots], 1 where a token has a slot of an expert, see op/expert.hpp.
template <index_t Slots, class... Options>
struct dispatch_mask {
    static constexpr op_attributes attributes = detail::make_attributes<op_kind::route, Options...>(Slots);
};
/// combine_weights<slots, top<k>>: the same with the token's gate for the expert in place of 1.
template <index_t Slots, class... Options>
struct combine_weights {
    static constexpr op_attributes attributes =
        detail::make_attributes<op_kind::route, Options..., detail::weighted>(Slots);
};
/// expert_linear<experts, output features, frozen>: [N,Experts*Slots,I] -> [N,Experts*Slots,Out], each expert with weights of its own.
template <index_t Experts, index_t Out, class... Options>
struct expert_linear {
    static constexpr op_attributes attributes =
        detail::make_attributes<op_kind::expert_linear, groups<Experts>, Options...>(Out);
};
/// Softmax cross-entropy of logits and integer labels, averaged over the global batch; weight<a, b> scales it.
struct cross_entropy : detail::simple_layer<op_kind::cross_entropy> {};
template <class... Options>
struct weighted_cross_entropy : detail::simple_layer<op_kind::cross_entropy, Options...> {};

/// Anything with attributes is a layer.
template <class T>
concept Layer = requires {
    T::attributes.kind;
};

} // namespace tessera
