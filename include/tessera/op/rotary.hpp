// SPDX-License-Identifier: Apache-2.0
// Rotary positions (Su et al. 2021, "RoFormer"): x[N,T,C] -> y like x. Of each head's channels, pairs of neighbours are
// turned by the angle position * base^(-2 * pair / channels of a head).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/nest/record.hpp"

namespace tessera::op {

struct rotary_attributes {
    index_t heads = 1;
    double base = 10000;
    static constexpr attribute_field fields[] = {{"heads", 1, 1}, number_field("base")};
};

struct rotary_body : expression::functions, nests::names {
    static constexpr const char* name = "rotary";
    using options = rotary_attributes;

    /// A rotation is a sum over the two channels of a pair. Heads are split as channels.
    static constexpr void body(auto& w, const options& a) {
        const auto [n, t] = w.loops(sample, position);
        const index_t channels = w.extent(0, 2);
        const index_t heads = a.heads < 1 ? 1 : a.heads;
        const index_t pairs = channels / (2 * heads);
        w.require(a.heads >= 1 && channels == pairs * 2 * heads, rule::heads_do_not_divide_channels, channels,
                  2 * heads, channel);
        const auto head = w.loop(channel, heads);
        const auto pair = w.loop(group_channel, pairs);
        const auto to = w.window(tap_height, 2);
        const auto from = w.window(tap_width, 2);
        const auto x = w.input(n, t, 2 * pairs * head + 2 * pair + from);
        const auto base = w.number(a.base);
        const auto angle = w.index(t) * exp(-log(base) * (w.index(pair) / w.size(pair)));
        const auto r = w.index(to);
        const auto turn = select(r == w.index(from), cos(angle), select(r == 0, -sin(angle), sin(angle)));
        w.output(n, t, 2 * pairs * head + 2 * pair + to) = w.sum(from, x * turn);
    }
};

} // namespace tessera::op

namespace tessera {

/// rotary<heads<H>>: of queries or keys [N,T,C] with H heads side by side.
template <class... Options>
struct rotary : detail::generated_layer<op::rotary_body, Options...> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
