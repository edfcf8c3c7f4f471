// SPDX-License-Identifier: Apache-2.0
// Root mean square normalization (Zhang and Sennrich 2019, "Root Mean Square Layer Normalization"): x[N,C] or x[N,T,C],
// gamma[C] -> y like x. And the same of each head by itself: x[N,T,H*W], gamma[W] -> y like x.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/nest/record.hpp"

namespace tessera::op {

struct rms_norm_attributes {
    double epsilon = 1e-5; ///< added to the mean of squares
    static constexpr attribute_field fields[] = {number_field("epsilon")};
};

struct rms_norm_body : expression::functions, nests::names {
    static constexpr const char* name = "rms_norm";
    using options = rms_norm_attributes;
    static constexpr int ranks[] = {2, 3};

    static constexpr void body(auto& w, const options& a) {
        const auto all = w.dimensions();
        const auto c = all.last();
        const auto x = w.input(all);
        const auto gamma = w.parameter(ones, c);
        const auto epsilon = w.number(a.epsilon);
        w.output(all) = x * rsqrt(w.mean(c, x * x) + epsilon) * gamma;
    }
};

struct head_rms_norm_attributes {
    index_t heads = 1;     ///< side by side in the channels
    double epsilon = 1e-5; ///< added to the mean of squares
    static constexpr attribute_field fields[] = {{"heads", 1, 1}, number_field("epsilon")};
};

/// Of queries and keys before their product (Henry et al. 2020, "Query-Key Normalization for Transformers"), as Qwen 3
/// has it. All heads share gamma. Heads are split as channels.
struct head_rms_norm_body : expression::functions, nests::names {
    static constexpr const char* name = "head_rms_norm";
    using options = head_rms_norm_attributes;

    static constexpr void body(auto& w, const options& a) {
        const auto [n, t] = w.loops(sample, position);
        const index_t channels = w.extent(0, 2);
        const index_t heads = a.heads < 1 ? 1 : a.heads;
        const index_t width = channels / heads;
        w.require(a.heads >= 1 && channels == width * heads, rule::heads_do_not_divide_channels, channels, heads,
                  channel);
        const auto head = w.loop(channel, heads);
        const auto c = w.loop(group_channel, width);
        const auto x = w.input(n, t, width * head + c);
        const auto gamma = w.parameter(ones, c);
        const auto epsilon = w.number(a.epsilon);
        w.output(n, t, width * head + c) = x * rsqrt(w.mean(c, x * x) + epsilon) * gamma;
    }
};

} // namespace tessera::op

namespace tessera {

/// rms_norm<epsilon<>, frozen>: over the channels, [N,C] or [N,T,C].
template <class... Options>
struct rms_norm : detail::generated_layer<op::rms_norm_body, Options...> {};
/// head_rms_norm<heads<H>, epsilon<>, frozen>: over the channels of each of H heads side by side, [N,T,C].
template <class... Options>
struct head_rms_norm : detail::generated_layer<op::head_rms_norm_body, Options...> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
