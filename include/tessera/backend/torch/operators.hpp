// SPDX-License-Identifier: Apache-2.0
// The operators that a program for PyTorch has lines for: one table, which is also its documentation.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/op/attention.hpp"
#include "tessera/backend/torch/op/experts.hpp"
#include "tessera/backend/torch/op/formulas.hpp"
#include "tessera/backend/torch/op/images.hpp"
#include "tessera/backend/torch/op/losses.hpp"
#include "tessera/backend/torch/op/moves.hpp"
#include "tessera/backend/torch/op/nests.hpp"
#include "tessera/backend/torch/op/norms.hpp"
#include "tessera/backend/torch/op/products.hpp"
#include "tessera/op/slice.hpp"

namespace tessera::torch {

namespace detail {

struct named_row {
    op_kind kind;
    operator_row row;
};

inline constexpr named_row rows[] = {
    {op_kind::conv2d, {convolution_line<op::conv2d_attributes>}},
    {op_kind::conv3d, {convolution_line<op::conv3d_attributes>}},
    {op_kind::transposed_conv2d, {transposed_line}},
    {op_kind::max_pool, {max_pool_line}},
    {op_kind::max_pool3d, {max_pool_line}},
    {op_kind::average_pool, {average_pool_line}},
    {op_kind::average_pool3d, {average_pool_line}},
    {op_kind::global_average_pool, {global_average_pool_line}},
    {op_kind::upsample_nearest, {upsample_nearest_line}},
    {op_kind::linear, {linear_line}},
    {op_kind::matmul, {matmul_line}},
    {op_kind::attention, {attention_line, attention_nest, dropped_weights}},
    {op_kind::padded_attention, {attention_line, attention_nest, dropped_weights}},
    {op_kind::embedding, {embedding_line}},
    {op_kind::position_embedding, {position_embedding_line}},
    {op_kind::flatten, {view_line}},
    {op_kind::reshape, {view_line}},
    {op_kind::slice, {same_line}},
    {op_kind::crop, {same_line}},
    {op_kind::pad, {pad_line}},
    {op_kind::flip, {flip_line}},
    {op_kind::concat, {concat_line}},
    {op_kind::permute, {permute_line}},
    {op_kind::broadcast_to, {broadcast_to_line}},
    {op_kind::dropout, {dropout_line, nullptr, dropped<op::dropped_unit::element>}},
    {op_kind::channel_dropout, {dropout_line, nullptr, dropped<op::dropped_unit::channel>}},
    {op_kind::stochastic_depth, {dropout_line, nullptr, dropped<op::dropped_unit::sample>}},
    {op_kind::batch_norm, {batch_norm_line, batch_norm_nest}},
    {op_kind::layer_norm, {layer_norm_line, layer_norm_nest}},
    {op_kind::group_norm, {group_norm_line}},
    {op_kind::softmax, {softmax_line, softmax_nest}},
    {op_kind::cross_entropy, {cross_entropy_line, cross_entropy_nest}},
    {op_kind::route, {route_line}},
    {op_kind::expert_linear, {expert_linear_line}},
};

} // namespace detail

/// The row of an operator: its own, or that of all expressions or loop nests; without a line where it has none.
operator_row row_of(const op_attributes& a);

/// Whether an operator takes its parameters rounded to bf16, in a network of bf16: as the reference backend has it.
bool takes_rounded_parameters(const op_attributes& a);

} // namespace tessera::torch

#ifndef TESSERA_COMPILED
#include "tessera/backend/torch/operators.inl"
#endif

#include "tessera/base/end_header.inl"
