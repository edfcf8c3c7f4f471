// SPDX-License-Identifier: Apache-2.0
// Batch normalization by running statistics that stay what they are, in training too: x[N,C,H,W], x[N,C,D,H,W] or
// x[N,C], gamma[C], beta[C], statistics[2,C] (means, then variances) -> y like x.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/batch_norm.hpp"
#include "tessera/op/nest/record.hpp"

namespace tessera::op {

struct fixed_batch_norm_attributes {
    double epsilon = 1e-5; ///< added to the variance
    static constexpr attribute_field fields[] = {number_field("epsilon")};
};

/// (x - mean) / sqrt(variance + epsilon) * gamma + beta. A mean and a variance are picked by a sum over the two rows of
/// the statistics, for each sample, so that samples can be split; planes, rows and columns of images cannot.
struct fixed_batch_norm_body : expression::functions, nests::names {
    using options = fixed_batch_norm_attributes;
    static constexpr const char* name = "fixed_batch_norm";
    static constexpr int ranks[] = {2, 5};
    static constexpr void body(auto& w, const options& a) {
        const auto all = w.dimensions();
        const auto row = w.window(loop_name::window_height, 2);
        w.require(all.size() != 3, rule::input_has_wrong_rank, all.size(), 4, loop_name::sample);
        const auto x = w.input(all);
        const auto gamma = w.parameter(ones, all[1]);
        const auto beta = w.parameter(zeros, all[1]);
        const auto statistics = w.constant_parameter(initial_values::moments, row, all[1]);
        nests::loop_list rows;
        rows.all.push_back(row);
        const auto here = w.number(0) * w.index(all[0]);
        const auto mean = w.sum(rows, statistics * (w.number(1) - w.index(row)) + here);
        const auto variance = w.sum(rows, statistics * w.index(row) + here);
        w.output(all) = (x - mean) * rsqrt(max(variance, w.number(0)) + w.number(a.epsilon)) * gamma + beta;
    }
};

} // namespace tessera::op

namespace tessera {

/// fixed_batch_norm<>: batch_norm<> with its running statistics in training as in evaluation, for fine-tuning
/// (PyTorch's BatchNorm in eval mode). It has the same parameters, weight, bias and statistics, so that it takes those
/// of a batch norm from files; the statistics never change. fixed_batch_norm<frozen>: nor do the others (torchvision's
/// FrozenBatchNorm2d).
template <class... Options>
struct fixed_batch_norm : detail::generated_layer<op::fixed_batch_norm_body, Options...> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
