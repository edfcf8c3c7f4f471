// SPDX-License-Identifier: Apache-2.0
// Rows of docs/layers.md: what works on each number by itself, dropout, and losses.
#pragma once

#include "docs/layer_rows.hpp"

namespace docs_support {

inline std::vector<layer_row> activations() {
    const char* const same = "any -> the same";
    const std::vector<ts::shape> x{ts::make_shape(8, 64, 7, 7)};
    return {
        LAYER("relu", "max(x, 0)", same, (x), ts::relu),
        LAYER("leaky_relu<Slope>", "x, or Slope x below 0; 0.01 unless said otherwise", same, (x), ts::leaky_relu<0.2>),
        LAYER("elu<Alpha>", "x, or Alpha (exp(x) - 1) below 0; 1 unless said otherwise", same, (x), ts::elu<>),
        LAYER("gelu", "x times the normal distribution's share below x", same, (x), ts::gelu),
        LAYER("silu", "x sigmoid(x), also called swish", same, (x), ts::silu),
        LAYER("sigmoid", "1 / (1 + exp(-x))", same, (x), ts::sigmoid),
        LAYER("hard_sigmoid", "(x + 3) / 6, from 0 to 1", same, (x), ts::hard_sigmoid),
        LAYER("hard_swish", "x hard_sigmoid(x)", same, (x), ts::hard_swish),
        LAYER("tanh", "tanh(x)", same, (x), ts::tanh),
        LAYER("softplus", "log(1 + exp(x))", same, (x), ts::softplus),
        LAYER("exp", "exp(x)", same, (x), ts::exp),
        LAYER("log", "log(x)", same, (x), ts::log),
        LAYER("sqrt", "the root of x", same, (x), ts::sqrt),
        LAYER("power<Exponent>", "x to the power of a constant", same, (x), ts::power<2>),
        LAYER("abs", "the absolute value", same, (x), ts::abs),
        LAYER("negate", "-x", same, (x), ts::negate),
        LAYER("clamp<Least, Most>", "x, no less and no more than these", same, (x), ts::clamp<0, 6>),
        LAYER("scale<Factor>", "Factor x", same, (x), ts::scale<0.5>),
        LAYER("add_constant<By>", "x + By", same, (x), ts::add_constant<1>),
        LAYER("stop_gradient", "x, through which no gradient flows", same, (x), ts::stop_gradient),
        LAYER("straight_through_round", "x rounded, with the gradient of x", same, (x), ts::straight_through_round),
    };
}

inline std::vector<layer_row> of_two() {
    using ts::make_shape;
    const char* const shapes = "two tensors -> their shape, broadcast";
    const std::vector<ts::shape> alike{make_shape(8, 64, 7, 7), make_shape(8, 64, 7, 7)};
    return {
        LAYER("add", "x + y", shapes, (alike), ts::add),
        LAYER("subtract", "x - y", shapes, (alike), ts::subtract),
        LAYER("multiply", "x y", shapes, ({make_shape(8, 64, 7, 7), make_shape(8, 64, 1, 1)}), ts::multiply),
        LAYER("divide", "x / y", shapes, (alike), ts::divide),
        LAYER("minimum", "the smaller one", shapes, (alike), ts::minimum),
        LAYER("maximum", "the larger one", shapes, (alike), ts::maximum),
        LAYER("silu_gate", "silu(x) y", shapes, (alike), ts::silu_gate),
        LAYER("gelu_gate", "gelu(x) y", shapes, (alike), ts::gelu_gate),
        LAYER("relu_gate", "relu(x) y", shapes, (alike), ts::relu_gate),
        LAYER("bilinear<Out>", "sum over i and j of x[i] W[o,i,j] y[j]", "[N,I], [N,J] -> [N,Out]",
              ({make_shape(8, 32), make_shape(8, 16)}), ts::bilinear<10>),
        LAYER("matmul<heads<>, transpose_first, transpose_second, scaled>",
              "products of matrices, one for each sample (and head); `scaled`: divided by the root of K",
              "[N,M,K], [N,K,P] -> [N,M,P]; with heads [N,M,H K], [N,P,H K] -> [N,H,M,P] and "
              "[N,H,M,P], [N,P,H K] -> [N,M,H K]",
              ({make_shape(8, 128, 256), make_shape(8, 128, 256)}),
              ts::matmul<ts::heads<4>, ts::transpose_second, ts::scaled>),
        LAYER("gather_rows", "rows of each sample by their numbers, integers from 0", "[N,T,C], [N,K] -> [N,K,C]",
              ({make_shape(8, 100, 64), make_shape(8, 5)}), ts::gather_rows),
        LAYER("scatter_sum<Rows>", "in row s the sum of the rows whose number is s", "[N,T,C], [N,T] -> [N,Rows,C]",
              ({make_shape(8, 100, 64), make_shape(8, 100)}), ts::scatter_sum<10>),
        LAYER("scatter_mean<Rows>", "their mean; zeros where there are none", "[N,T,C], [N,T] -> [N,Rows,C]",
              ({make_shape(8, 100, 64), make_shape(8, 100)}), ts::scatter_mean<10>),
        LAYER("scatter_max<Rows>", "their maximum; zeros where there are none", "[N,T,C], [N,T] -> [N,Rows,C]",
              ({make_shape(8, 100, 64), make_shape(8, 100)}), ts::scatter_max<10>),
    };
}

inline std::vector<layer_row> droppers() {
    using ts::make_shape;
    return {
        LAYER("dropout<Percent>", "in training so many per cent of the numbers become 0, and the others are scaled up",
              "any -> the same", ({make_shape(8, 256)}), ts::dropout<50>),
        LAYER("channel_dropout<Percent>", "whole channels of a sample", "[N,C], [N,C,H,W] or [N,C,D,H,W] -> the same",
              ({make_shape(8, 64, 7, 7)}), ts::channel_dropout<20>),
        LAYER("stochastic_depth<Percent>", "whole samples: the last layer of a residual's branch", "any -> the same",
              ({make_shape(8, 64, 7, 7)}), ts::stochastic_depth<10>),
    };
}

inline std::vector<layer_row> losses() {
    using ts::make_shape;
    const char* const classes = "[N,K] and [N]; [N,T,K] and [N,T]; [N,K,H,W] and [N,H,W] -> as the labels";
    const char* const rows = "[N,K] and [N]; [N,T,K] and [N,T] -> as the labels";
    const char* const alike = "two tensors of one shape -> it";
    const char* const towers = "[N,C], [N,C] -> [N]";
    const std::vector<ts::shape> two{make_shape(8, 128), make_shape(8, 128)};
    const std::vector<ts::shape> numbers{make_shape(8, 1)};
    return {
        LAYER("cross_entropy", "logits with integer labels; of volumes too", classes, ({make_shape(8, 10)}),
              ts::cross_entropy),
        LAYER("weighted_cross_entropy<weight<>>", "the same, times a factor in the total", classes,
              ({make_shape(8, 10)}), ts::weighted_cross_entropy<ts::weight<3, 10>>),
        LAYER("smooth_cross_entropy<Smoothing>", "with label smoothing; 0.1 unless said otherwise", rows,
              ({make_shape(8, 1000)}), ts::smooth_cross_entropy<0.1>),
        LAYER("soft_cross_entropy<Smoothing>", "logits with probabilities of all classes",
              "[N,K], [N,K] -> [N]; [N,T,K], [N,T,K] -> [N,T]", ({make_shape(8, 10)}), ts::soft_cross_entropy<>),
        LAYER("masked_cross_entropy<ignore<>, label_smoothing<>, weight<>>",
              "rows whose label is -100, or the one said, do not count", classes, ({make_shape(8, 64, 500)}),
              ts::masked_cross_entropy<ts::ignore<0>>),
        LAYER("vocabulary_loss<Words, label_smoothing<>, weight<>>",
              "a linear layer without biases and cross_entropy in one, which keeps no logits",
              "[N,C] and [N]; [N,T,C] and [N,T] -> as the labels", ({make_shape(8, 64, 32)}), ts::vocabulary_loss<500>),
        LAYER("masked_vocabulary_loss<Words, ignore<>, label_smoothing<>, weight<>>",
              "the same; rows whose label is -100, or the one said, do not count",
              "[N,C] and [N]; [N,T,C] and [N,T] -> as the labels", ({make_shape(8, 64, 32)}),
              ts::masked_vocabulary_loss<500, ts::ignore<0>>),
        LAYER("class_weighted_cross_entropy<ignore<>, label_smoothing<>, weight<>>", "with a weight for each class",
              classes, ({make_shape(8, 10)}), ts::class_weighted_cross_entropy<>),
        LAYER("row_weighted_cross_entropy<ignore<>, label_smoothing<>, weight<>>",
              "with a weight for each row, the third input", classes,
              ({make_shape(8, 10), make_shape(8), make_shape(8)}), ts::row_weighted_cross_entropy<>),
        LAYER("mse_loss", "mean of (x - t)^2", alike, (numbers), ts::mse_loss),
        LAYER("l1_loss", "mean of the absolute difference", alike, (numbers), ts::l1_loss),
        LAYER("huber_loss<Delta>", "quadratic up to a difference of Delta, 1 unless said otherwise, then linear", alike,
              (numbers), ts::huber_loss<0.5>),
        LAYER("bce_with_logits", "binary cross-entropy of logits with targets from 0 to 1", alike, (numbers),
              ts::bce_with_logits),
        LAYER("kl_divergence", "logarithms of probabilities with probabilities", alike, ({make_shape(8, 10)}),
              ts::kl_divergence),
        LAYER("cosine_loss", "1 less the cosine between the rows of two tensors", towers, (two), ts::cosine_loss),
        LAYER("info_nce_loss<Temperature>", "each row told from all rows of the other tensor; 0.07", towers, (two),
              ts::info_nce_loss<0.1>),
        LAYER("contrastive_loss<Temperature>", "the same both ways", towers, (two), ts::contrastive_loss<>),
        LAYER("clip_loss<>", "the same with a temperature that is learned", towers, (two), ts::clip_loss<>),
        LAYER("load_balance_loss<top<>, weight<>>",
              "how unevenly a router's choices fall on experts; in a network `aside<load_balance<Top>>`",
              "[N,T,E], [N,T,E] -> [N]", ({make_shape(8, 128, 4), make_shape(8, 128, 4)}),
              ts::load_balance_loss<ts::top<2>>),
        LAYER("router_z_loss<weight<>>", "the square of the logarithm of the sum of exponentials of a router's logits",
              "[N,T,E] -> [N,T]", ({make_shape(8, 128, 4)}), ts::router_z_loss<>),
        LAYER("choice_bias_loss<top<>, weight<>>",
              "always 0: what makes a `choice_bias` learn by the experts' loads; it is part of `bias_balanced`",
              "[N,T,E] -> [N]", ({make_shape(8, 128, 4)}), ts::choice_bias_loss<ts::top<2>>),
        LAYER("weighted_loss<Loss, weight<>>", "any loss, times a factor in the total", "as the loss", (numbers),
              ts::weighted_loss<ts::mse_loss, ts::weight<1, 2>>),
    };
}

} // namespace docs_support
