// SPDX-License-Identifier: Apache-2.0
// Which operators there are, and the numbers that tell two uses of one apart.
#pragma once

#include "tessera/base/box.hpp"

namespace tessera {

/// All operators of the library, in the order of their numbers. Each has a record of this name, see op/record.hpp; op/records.hpp lists the headers.
// clang-format off
#define TESSERA_OPERATORS(X) \
    X(conv2d) X(max_pool) X(average_pool) X(global_average_pool) X(linear) X(relu) X(sigmoid) X(tanh) X(gelu) \
    X(add) X(multiply) X(concat) X(flatten) X(dropout) X(channel_dropout) X(batch_norm) X(layer_norm) X(softmax) \
    X(matmul) X(embedding) X(position_embedding) X(slice) X(transposed_conv2d) X(expert_linear) X(route) \
    X(cross_entropy)
// clang-format on

struct op_record;

/// Which operator: a reference to its record (op/record.hpp). Those of the library are members; an operator of one's own is op_kind{&its_record}.
struct op_kind {
    const op_record* record = nullptr;

    friend constexpr bool operator==(op_kind, op_kind) = default;

    constexpr operator int() const;

#define TESSERA_OPERATOR(name) static const op_kind name;
    TESSERA_OPERATORS(TESSERA_OPERATOR)
#undef TESSERA_OPERATOR
};

/// In what an operator computes. tf32: products of matrices and convolutions may round their factors to 10 bits of mantissa.
/// bf16: activations and their gradients are bf16 numbers; products take their parameters rounded to bf16; sums, statistics,
/// losses, parameters and their gradients stay fp32.
enum class precision : std::uint8_t { fp32, tf32, bf16 };

constexpr const char* to_text(precision p) {
    constexpr const char* names[] = {"fp32", "tf32", "bf16"};
    return names[static_cast<int>(p)];
}

/// The attributes of an operator as one flat value. Fields that a kind does not use keep their defaults, so that equal
/// operators compare equal.
struct op_attributes {
    op_kind kind;
    index_t out =
        0; ///< convolutions, linear layers, embedding: output channels or features; slice: extent of the result; route:
           ///< capacity, slots of an expert for the tokens of a sample
    index_t window[2] = {1, 1};   ///< height, width of a convolution's or a pool's window
    index_t stride[2] = {1, 1};   ///< height, width
    index_t padding[2] = {0, 0};  ///< rows and columns of zeros on each side (of -infinity in a max pool)
    index_t dilation[2] = {1, 1}; ///< height, width
    index_t groups = 1;  ///< conv2d: input and output channels are divided in this many groups; expert_linear: experts
    bool bias = false;   ///< convolutions, linear: adds one number per output channel
    bool frozen = false; ///< its parameters are not trained
    bool count_padding = false;          ///< average_pool: the divisor counts the padding too
    int percent = 0;                     ///< dropout: how many per cent of the values are dropped
    double epsilon = 1e-5;               ///< batch_norm, layer_norm: added to the variance
    double momentum = 0.1;               ///< batch_norm: weight of the newest statistics in the running ones
    double weight = 1.0;                 ///< cross_entropy: factor of this loss in the total loss
    index_t heads = 1;                   ///< matmul: matrices side by side in the channels of inputs of rank 3
    bool transposed[2] = {false, false}; ///< matmul: rows and columns of an input change places
    bool scaled = false;                 ///< matmul: divided by the square root of the extent that is summed over
    bool causal = false;                 ///< softmax: columns behind the row's own number count as minus infinity
    index_t vocabulary = 0;              ///< embedding: rows of the table
    index_t begin = 0;                   ///< slice: first index
    int axis = -1;                       ///< concat, slice: the dimension; -1 for the channels
    index_t top = 1;                     ///< route: experts that a token is sent to
    bool weighted = false;               ///< route: the result holds the tokens' gates instead of ones
    precision math = precision::fp32;    ///< of the network; see net/precision.hpp

    friend constexpr bool operator==(const op_attributes&, const op_attributes&) = default;
};

} // namespace tessera
