// SPDX-License-Identifier: Apache-2.0
// The operator table: every kind with the attributes and extents that make its description interesting. A new operator is tested by
// one more row.
#pragma once

#include "tessera/op/analysis.hpp"
#include "tessera/op/records.hpp"

#include <string>
#include <vector>

namespace tests {

namespace ts = tessera;

struct op_case {
    std::string name;
    ts::op_attributes attributes;
    std::vector<ts::shape> inputs;
    std::vector<double> shifts{};  ///< added to the numbers of each input, which are around 0 without
    bool has_own_gradient = false; ///< by intent no derivative: straight through, stopped

    double shift_of(std::size_t input) const { return input < shifts.size() ? shifts[input] : 0; }
    ts::description describe() const {
        return ts::describe(attributes, inputs.data(), static_cast<int>(inputs.size()));
    }
    /// How many integers there are to choose from, where an input has them.
    ts::index_t integers() const {
        ts::index_t looked_up = 0;
        for (int slot = 0; slot < 2 && looked_up == 0 && ts::record_of(attributes).integers != nullptr; ++slot) {
            looked_up = ts::record_of(attributes).integers(attributes, inputs[0], slot);
        }
        return looked_up > 0 ? looked_up : inputs[0][ts::op::channel_dimension(inputs[0].rank)];
    }
    ts::inferred infer() const { return ts::infer(attributes, inputs.data(), static_cast<int>(inputs.size())); }
};

inline const std::vector<op_case>& op_table() {
    using ts::make_shape;
    using ts::op_kind;
    static const std::vector<op_case> table = {
        {"conv2d plain",
         ts::attributes_of(op_kind::conv2d, ts::op::conv2d_attributes{.window = {3, 3}, .out = 4}),
         {make_shape(3, 2, 6, 5)}},
        {"conv2d bias",
         ts::attributes_of(op_kind::conv2d,
                           ts::op::conv2d_attributes{.window = {3, 2}, .padding = {1, 1}, .out = 3, .bias = true}),
         {make_shape(2, 3, 5, 4)}},
        {"conv2d stride",
         ts::attributes_of(
             op_kind::conv2d,
             ts::op::conv2d_attributes{.window = {3, 3}, .stride = {2, 3}, .padding = {1, 2}, .out = 2, .bias = true}),
         {make_shape(2, 2, 7, 9)}},
        {"conv2d stride beyond window",
         ts::attributes_of(op_kind::conv2d, ts::op::conv2d_attributes{.window = {2, 1}, .stride = {3, 2}, .out = 2}),
         {make_shape(2, 2, 9, 7)}},
        {"conv2d dilation",
         ts::attributes_of(op_kind::conv2d,
                           ts::op::conv2d_attributes{
                               .window = {3, 2}, .padding = {2, 1}, .dilation = {2, 3}, .out = 3, .bias = true}),
         {make_shape(2, 2, 7, 6)}},
        {"conv2d dilation and stride",
         ts::attributes_of(op_kind::conv2d,
                           ts::op::conv2d_attributes{
                               .window = {2, 3}, .stride = {3, 2}, .padding = {1, 2}, .dilation = {2, 2}, .out = 2}),
         {make_shape(2, 2, 10, 9)}},
        {"conv2d groups",
         ts::attributes_of(
             op_kind::conv2d,
             ts::op::conv2d_attributes{.window = {3, 3}, .padding = {1, 1}, .out = 6, .groups = 3, .bias = true}),
         {make_shape(2, 6, 4, 4)}},
        {"conv2d depthwise",
         ts::attributes_of(
             op_kind::conv2d,
             ts::op::conv2d_attributes{.window = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .out = 4, .groups = 4}),
         {make_shape(2, 4, 5, 5)}},
        {"conv2d pointwise",
         ts::attributes_of(op_kind::conv2d, ts::op::conv2d_attributes{.out = 5, .bias = true}),
         {make_shape(2, 3, 3, 3)}},
        {"conv2d one row",
         ts::attributes_of(op_kind::conv2d, ts::op::conv2d_attributes{.window = {1, 3}, .out = 2}),
         {make_shape(1, 1, 1, 7)}},
        {"linear", ts::attributes_of(op_kind::linear, ts::op::linear_attributes{.out = 7}), {make_shape(5, 6)}},
        {"linear bias",
         ts::attributes_of(op_kind::linear, ts::op::linear_attributes{.out = 3, .bias = true}),
         {make_shape(3, 5)}},
        {"max_pool",
         ts::attributes_of(op_kind::max_pool, ts::op::pool_attributes{.window = {2, 2}, .stride = {2, 2}}),
         {make_shape(2, 3, 6, 7)}},
        {"max_pool overlapping",
         ts::attributes_of(op_kind::max_pool,
                           ts::op::pool_attributes{.window = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}),
         {make_shape(2, 2, 7, 5)}},
        {"max_pool with gaps",
         ts::attributes_of(op_kind::max_pool, ts::op::pool_attributes{.window = {2, 1}, .stride = {3, 2}}),
         {make_shape(2, 2, 8, 5)}},
        {"average_pool",
         ts::attributes_of(op_kind::average_pool, ts::op::average_pool_attributes{.window = {2, 3}, .stride = {2, 3}}),
         {make_shape(2, 2, 4, 6)}},
        {"average_pool padding",
         ts::attributes_of(op_kind::average_pool,
                           ts::op::average_pool_attributes{.window = {3, 3}, .stride = {2, 1}, .padding = {1, 2}}),
         {make_shape(2, 2, 5, 4)}},
        {"average_pool counting padding",
         ts::attributes_of(op_kind::average_pool,
                           ts::op::average_pool_attributes{
                               .window = {3, 2}, .stride = {1, 2}, .padding = {2, 1}, .count_padding = true}),
         {make_shape(2, 2, 4, 5)}},
        {"global_average_pool", {.kind = op_kind::global_average_pool}, {make_shape(3, 4, 5, 3)}},
        {"relu", {.kind = op_kind::relu}, {make_shape(3, 2, 3, 4)}},
        {"relu of features", {.kind = op_kind::relu}, {make_shape(5, 7)}},
        {"sigmoid", {.kind = op_kind::sigmoid}, {make_shape(3, 5)}},
        {"tanh", {.kind = op_kind::tanh}, {make_shape(2, 3, 2, 3)}},
        {"gelu", {.kind = op_kind::gelu}, {make_shape(4, 6)}},
        {"silu", {.kind = op_kind::silu}, {make_shape(4, 6)}},
        {"leaky_relu", ts::leaky_relu<0.2>::attributes, {make_shape(3, 2, 3, 4)}},
        {"elu", ts::elu<1.5>::attributes, {make_shape(5, 7)}},
        {"hard_sigmoid", ts::hard_sigmoid::attributes, {make_shape(4, 6)}, {3}},
        {"hard_swish", ts::hard_swish::attributes, {make_shape(3, 2, 3, 3)}, {3}},
        {"hard_swish of negative numbers", ts::hard_swish::attributes, {make_shape(4, 6)}, {-2}},
        {"softplus", ts::softplus::attributes, {make_shape(3, 4, 3)}},
        {"exp", ts::exp::attributes, {make_shape(4, 5)}},
        {"log", ts::log::attributes, {make_shape(4, 5)}, {3}},
        {"sqrt", ts::sqrt::attributes, {make_shape(2, 3, 2, 2)}, {3}},
        {"power", ts::power<2.5>::attributes, {make_shape(4, 5)}, {3}},
        {"power of whole numbers", ts::power<-2>::attributes, {make_shape(4, 5)}, {-3}},
        {"square", ts::power<2>::attributes, {make_shape(3, 2, 3, 4)}},
        {"cube", ts::power<3>::attributes, {make_shape(3, 4, 2)}},
        {"abs", ts::abs::attributes, {make_shape(3, 5)}},
        {"clamp", ts::clamp<-0.02, 0.03>::attributes, {make_shape(2, 4, 3, 2)}},
        {"negate", ts::negate::attributes, {make_shape(3, 5)}},
        {"scale", ts::scale<-0.3>::attributes, {make_shape(3, 4, 5)}},
        {"add_constant", ts::add_constant<0.7>::attributes, {make_shape(2, 3, 4, 3)}},
        {"stop_gradient", ts::stop_gradient::attributes, {make_shape(3, 5)}, {}, true},
        {"straight_through_round", ts::straight_through_round::attributes, {make_shape(3, 4)}, {}, true},
        {"subtract", {.kind = op_kind::subtract}, {make_shape(2, 3, 4, 3), make_shape(2, 3, 4, 3)}},
        {"divide", {.kind = op_kind::divide}, {make_shape(3, 5), make_shape(3, 5)}, {0, 3}},
        {"minimum", {.kind = op_kind::minimum}, {make_shape(2, 3, 4), make_shape(2, 3, 4)}, {0, 0.0013}},
        {"maximum", {.kind = op_kind::maximum}, {make_shape(4, 6), make_shape(4, 6)}, {0, 0.0013}},
        {"add", {.kind = op_kind::add}, {make_shape(2, 3, 4, 3), make_shape(2, 3, 4, 3)}},
        {"multiply", {.kind = op_kind::multiply}, {make_shape(3, 5), make_shape(3, 5)}},
        {"concat", {.kind = op_kind::concat}, {make_shape(2, 3, 2, 3), make_shape(2, 1, 2, 3), make_shape(2, 4, 2, 3)}},
        {"concat of features", {.kind = op_kind::concat}, {make_shape(3, 2), make_shape(3, 5)}},
        {"flatten", {.kind = op_kind::flatten}, {make_shape(3, 4, 2, 3)}},
        {"flatten one channel", {.kind = op_kind::flatten}, {make_shape(3, 1, 4, 3)}},
        {"flatten one column", {.kind = op_kind::flatten}, {make_shape(2, 3, 4, 1)}},
        {"flatten features", {.kind = op_kind::flatten}, {make_shape(3, 5)}},
        {"dropout",
         ts::attributes_of(op_kind::dropout, ts::op::dropout_attributes{.percent = 40}),
         {make_shape(3, 4, 3, 2)}},
        {"dropout of features",
         ts::attributes_of(op_kind::dropout, ts::op::dropout_attributes{.percent = 25}),
         {make_shape(5, 7)}},
        {"channel_dropout",
         ts::attributes_of(op_kind::channel_dropout, ts::op::dropout_attributes{.percent = 50}),
         {make_shape(4, 6, 2, 2)}},
        {"channel_dropout of features",
         ts::attributes_of(op_kind::channel_dropout, ts::op::dropout_attributes{.percent = 30}),
         {make_shape(4, 9)}},
        {"batch_norm", {.kind = op_kind::batch_norm}, {make_shape(4, 3, 3, 2)}},
        {"batch_norm of features", {.kind = op_kind::batch_norm}, {make_shape(7, 5)}},
        {"linear of sequences",
         ts::attributes_of(op_kind::linear, ts::op::linear_attributes{.out = 5, .bias = true}),
         {make_shape(3, 4, 6)}},
        {"tanh of sequences", {.kind = op_kind::tanh}, {make_shape(2, 5, 3)}},
        {"multiply of sequences", {.kind = op_kind::multiply}, {make_shape(2, 3, 4), make_shape(2, 3, 4)}},
        {"dropout of sequences",
         ts::attributes_of(op_kind::dropout, ts::op::dropout_attributes{.percent = 30}),
         {make_shape(3, 5, 4)}},
        {"flatten sequences", {.kind = op_kind::flatten}, {make_shape(3, 4, 2)}},
        {"concat of sequences",
         {.kind = op_kind::concat},
         {make_shape(2, 3, 2), make_shape(2, 3, 4), make_shape(2, 3, 1)}},
        {"concat of positions",
         ts::attributes_of(op_kind::concat, ts::op::concat_attributes{.axis = 1}),
         {make_shape(2, 3, 4), make_shape(2, 2, 4)}},
        {"concat of rows",
         ts::attributes_of(op_kind::concat, ts::op::concat_attributes{.axis = 2}),
         {make_shape(2, 2, 3, 2), make_shape(2, 2, 2, 2)}},
        {"slice of features",
         ts::attributes_of(op_kind::slice, ts::op::slice_attributes{.begin = 3, .out = 4}),
         {make_shape(3, 9)}},
        {"slice of sequences",
         ts::attributes_of(op_kind::slice, ts::op::slice_attributes{.begin = 2, .out = 3}),
         {make_shape(2, 3, 8)}},
        {"slice of positions",
         ts::attributes_of(op_kind::slice, ts::op::slice_attributes{.begin = 1, .out = 2, .axis = 1}),
         {make_shape(2, 5, 3)}},
        {"slice of channels",
         ts::attributes_of(op_kind::slice, ts::op::slice_attributes{.begin = 0, .out = 2}),
         {make_shape(2, 4, 3, 2)}},
        {"layer_norm", {.kind = op_kind::layer_norm}, {make_shape(4, 3, 6)}},
        {"layer_norm of features", {.kind = op_kind::layer_norm}, {make_shape(5, 7)}},
        {"group_norm",
         ts::attributes_of(op_kind::group_norm, ts::op::group_norm_attributes{.groups = 2}),
         {make_shape(3, 6, 3, 2)}},
        {"rms_norm", {.kind = op_kind::rms_norm}, {make_shape(5, 7)}},
        {"rms_norm of sequences",
         ts::attributes_of(op_kind::rms_norm, ts::op::rms_norm_attributes{.epsilon = 0.01}),
         {make_shape(4, 3, 6)}},
        {"instance_norm", {.kind = op_kind::instance_norm}, {make_shape(3, 4, 3, 2)}},
        {"image_layer_norm", {.kind = op_kind::image_layer_norm}, {make_shape(3, 2, 3, 4)}},
        {"pixel_norm", {.kind = op_kind::pixel_norm}, {make_shape(3, 5, 2, 3)}},
        {"rotary", {.kind = op_kind::rotary}, {make_shape(2, 5, 6)}},
        {"rotary of heads",
         ts::attributes_of(op_kind::rotary, ts::op::rotary_attributes{.heads = 3, .base = 100}),
         {make_shape(2, 4, 12)}},
        {"bilinear",
         ts::attributes_of(op_kind::bilinear, ts::op::bilinear_attributes{.out = 3}),
         {make_shape(4, 5), make_shape(4, 2)}},
        {"softmax", {.kind = op_kind::softmax}, {make_shape(4, 6)}},
        {"softmax of sequences", {.kind = op_kind::softmax}, {make_shape(2, 3, 5)}},
        {"softmax causal",
         ts::attributes_of(op_kind::softmax, ts::op::softmax_attributes{.causal = true}),
         {make_shape(2, 4, 4)}},
        {"softmax causal of heads",
         ts::attributes_of(op_kind::softmax, ts::op::softmax_attributes{.causal = true}),
         {make_shape(2, 3, 4, 5)}},
        {"padded_softmax",
         ts::attributes_of(op_kind::padded_softmax, ts::op::softmax_attributes{}),
         {make_shape(4, 3, 6), make_shape(4)}},
        {"padded_softmax of rows",
         ts::attributes_of(op_kind::padded_softmax, ts::op::softmax_attributes{}),
         {make_shape(6, 5), make_shape(6)}},
        {"padded_softmax causal of heads",
         ts::attributes_of(op_kind::padded_softmax, ts::op::softmax_attributes{.causal = true}),
         {make_shape(3, 2, 5, 5), make_shape(3)}},
        {"softmax of heads", {.kind = op_kind::softmax}, {make_shape(2, 2, 3, 4)}},
        {"matmul", {.kind = op_kind::matmul}, {make_shape(3, 4, 5), make_shape(3, 5, 2)}},
        {"matmul transposed",
         ts::attributes_of(op_kind::matmul, ts::op::matmul_attributes{.transposed = {true, true}}),
         {make_shape(2, 5, 3), make_shape(2, 4, 5)}},
        {"matmul of matrices of heads",
         ts::attributes_of(op_kind::matmul, ts::op::matmul_attributes{.transposed = {true, false}}),
         {make_shape(2, 3, 4, 3), make_shape(2, 3, 4, 2)}},
        {"matmul scores",
         ts::attributes_of(op_kind::matmul,
                           ts::op::matmul_attributes{.heads = 2, .transposed = {false, true}, .scaled = true}),
         {make_shape(2, 4, 6), make_shape(2, 5, 6)}},
        {"matmul mixtures",
         ts::attributes_of(op_kind::matmul, ts::op::matmul_attributes{.heads = 3}),
         {make_shape(2, 3, 4, 5), make_shape(2, 5, 6)}},
        {"embedding",
         ts::attributes_of(op_kind::embedding, ts::op::embedding_attributes{.vocabulary = 7, .out = 4}),
         {make_shape(3, 5)}},
        {"embedding of features",
         ts::attributes_of(op_kind::embedding, ts::op::embedding_attributes{.vocabulary = 6, .out = 3}),
         {make_shape(5)}},
        {"position_embedding", {.kind = op_kind::position_embedding}, {make_shape(3, 4, 5)}},
        {"transposed_conv2d up",
         ts::attributes_of(op_kind::transposed_conv2d,
                           ts::op::conv2d_attributes{.window = {2, 2}, .stride = {2, 2}, .out = 3, .bias = true}),
         {make_shape(2, 4, 3, 4)}},
        {"transposed_conv2d overlapping",
         ts::attributes_of(
             op_kind::transposed_conv2d,
             ts::op::conv2d_attributes{.window = {4, 3}, .stride = {2, 2}, .padding = {1, 0}, .out = 3, .bias = true}),
         {make_shape(2, 3, 4, 3)}},
        {"transposed_conv2d much padding",
         ts::attributes_of(op_kind::transposed_conv2d,
                           ts::op::conv2d_attributes{.window = {5, 3}, .stride = {2, 1}, .padding = {3, 1}, .out = 2}),
         {make_shape(2, 2, 5, 4)}},
        {"transposed_conv2d with gaps",
         ts::attributes_of(op_kind::transposed_conv2d,
                           ts::op::conv2d_attributes{.window = {1, 2}, .stride = {2, 3}, .out = 2, .bias = true}),
         {make_shape(2, 2, 3, 3)}},
        {"expert_linear",
         ts::attributes_of(op_kind::expert_linear, ts::op::expert_linear_attributes{.out = 4, .groups = 3}),
         {make_shape(2, 6, 5)}},
        {"dispatch mask",
         ts::attributes_of(op_kind::route, ts::op::route_attributes{.slots = 2, .top = 2}),
         {make_shape(3, 5, 4)}},
        {"combine weights",
         ts::attributes_of(op_kind::route, ts::op::route_attributes{.slots = 2, .top = 2, .weighted = true}),
         {make_shape(3, 5, 4)}},
        {"combine weights of first choices",
         ts::attributes_of(op_kind::route, ts::op::route_attributes{.slots = 3, .top = 1, .weighted = true}),
         {make_shape(2, 4, 2)}},
        {"permute", ts::permute<0, 2, 3, 1>::attributes, {make_shape(2, 3, 4, 5)}},
        {"permute of sequences", ts::permute<0, 2, 1>::attributes, {make_shape(3, 4, 5)}},
        {"permute of volumes", ts::permute<0, 3, 1, 4, 2>::attributes, {make_shape(2, 2, 3, 2, 3)}},
        {"reshape of features", ts::reshape<3, 2, 2>::attributes, {make_shape(3, 12)}},
        {"reshape of common factors", ts::reshape<2, 12>::attributes, {make_shape(2, 4, 6)}},
        {"reshape with an inferred extent", ts::reshape<2, -1, 1, 3>::attributes, {make_shape(2, 4, 3, 3)}},
        {"reshape without common factors", ts::reshape<3, 6, 4>::attributes, {make_shape(2, 3, 4, 6)}},
        {"reshape of volumes", ts::reshape<-1>::attributes, {make_shape(2, 2, 3, 2, 2)}},
        {"broadcast_to of images", ts::broadcast_to<-1, 3, 4>::attributes, {make_shape(3, 4, 1, 1)}},
        {"broadcast_to of sequences", ts::broadcast_to<4, -1>::attributes, {make_shape(3, 5)}},
        {"broadcast_to of rows", ts::broadcast_to<3, 2, 5>::attributes, {make_shape(2, 3, 1, 5)}},
        {"broadcast_to of columns", ts::broadcast_to<3, 20>::attributes, {make_shape(2, 3, 1)}},
        {"pad", ts::pad<ts::margin<2, 1, 2>, ts::margin<3, 2, 0>>::attributes, {make_shape(2, 3, 4, 3)}},
        {"pad of positions", ts::pad<ts::margin<1, 5, 1>>::attributes, {make_shape(2, 3, 4)}},
        {"pad of channels", ts::pad<ts::margin<1, 0, 3>>::attributes, {make_shape(3, 4)}},
        {"crop", ts::crop<ts::keep<2, 1, 3>, ts::keep<3, 2, 2>>::attributes, {make_shape(2, 3, 5, 4)}},
        {"crop of channels", ts::crop<ts::keep<1, 1, 2>>::attributes, {make_shape(2, 4, 3)}},
        {"roll", ts::roll<ts::shift<2, 2>, ts::shift<3, -1>>::attributes,
         std::vector<ts::shape>(4, make_shape(2, 2, 5, 3))},
        {"roll of positions", ts::roll<ts::shift<1, -8>>::attributes, std::vector<ts::shape>(2, make_shape(2, 5, 3))},
        {"roll of features", ts::roll<ts::shift<1, 7>>::attributes, std::vector<ts::shape>(2, make_shape(3, 4))},
        {"flip", ts::flip<2, 3>::attributes, {make_shape(2, 3, 4, 3)}},
        {"flip of sequences", ts::flip<1>::attributes, {make_shape(2, 5, 3)}},
        {"upsample_nearest", ts::upsample_nearest<2, 3>::attributes, {make_shape(2, 3, 3, 2)}},
        {"upsample_nearest of rows", ts::upsample_nearest<3, 1>::attributes, {make_shape(2, 2, 2, 5)}},
        {"upsample_bilinear", ts::upsample_bilinear<2>::attributes, {make_shape(2, 2, 4, 3)}},
        {"upsample_bilinear by odd factors", ts::upsample_bilinear<3, 5>::attributes, {make_shape(2, 2, 3, 3)}},
        {"upsample_bilinear of columns", ts::upsample_bilinear<1, 4>::attributes, {make_shape(2, 3, 2, 3)}},
        {"upsample_bilinear of one pixel", ts::upsample_bilinear<4, 2>::attributes, {make_shape(3, 2, 1, 2)}},
        {"cross_entropy", {.kind = op_kind::cross_entropy}, {make_shape(4, 7), make_shape(4)}},
        {"cross_entropy of sequences", {.kind = op_kind::cross_entropy}, {make_shape(3, 4, 5), make_shape(3, 4)}},
        {"cross_entropy of pixels",
         {.kind = op_kind::cross_entropy, .weight = 0.5},
         {make_shape(2, 5, 3, 4), make_shape(2, 3, 4)}},
        {"mse_loss", ts::mse_loss::attributes, {make_shape(5, 4), make_shape(5, 4)}},
        {"mse_loss of images", ts::mse_loss::attributes, {make_shape(3, 2, 4, 3), make_shape(3, 2, 4, 3)}},
        {"l1_loss of sequences", ts::l1_loss::attributes, {make_shape(3, 5, 2), make_shape(3, 5, 2)}},
        {"huber_loss", ts::huber_loss<0.125>::attributes, {make_shape(6, 5), make_shape(6, 5)}},
        {"bce_with_logits", ts::bce_with_logits::attributes, {make_shape(4, 6), make_shape(4, 6)}},
        {"kl_divergence", ts::kl_divergence::attributes, {make_shape(4, 5), make_shape(4, 5)}, {0, 0.5}},
    };
    return table;
}

using ts::loop_ranges;

/// Deterministic pseudo-random numbers for tests.
struct random_numbers {
    std::uint64_t state;

    std::uint64_t operator()() {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        return state >> 33U;
    }
    /// From 0 to below `end`.
    ts::index_t below(ts::index_t end) { return static_cast<ts::index_t>((*this)() % static_cast<std::uint64_t>(end)); }
};

} // namespace tests
