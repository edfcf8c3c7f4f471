// SPDX-License-Identifier: Apache-2.0
// Rotary positions (Su et al. 2021, "RoFormer"): x[N,T,C] -> y like x. Of each head's channels, pairs are turned by the
// angle position * base^(-2 * pair / channels of a head). A pair is two neighbours, as in the paper, or with `halves` a
// channel of the head's first half and its like in the second, as in the weights of LLaMA that `transformers` reads.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/nest/record.hpp"

namespace tessera::op {

/// With a factor other than 1 the frequencies are those of LLaMA 3.1 (Dubey et al. 2024): pairs that turn fewer than
/// `low` times within the original length turn `factor` times slower, those that turn more than `high` times as before,
/// and those between by a straight line from one to the other.
struct rotary_attributes {
    index_t heads = 1;
    double base = 10000;
    flag halves = false;
    double factor = 1;
    double low = 1;
    double high = 4;
    double original = 8192;
    static constexpr attribute_field fields[] = {{"heads", 1, 1},         number_field("base"), flag_field("halves"),
                                                 number_field("factor"),  number_field("low"),  number_field("high"),
                                                 number_field("original")};
};

/// The frequency of a pair is base^(-pair / pairs) * (least + (1 - least) * clamp(slope * that - offset, 0, 1)).
struct rotary_scaling {
    double least = 1, slope = 0, offset = 0;
};
constexpr rotary_scaling scaling_of(const rotary_attributes& a) {
    if (a.factor == 1) {
        return {};
    }
    const double width = a.high > a.low ? a.high - a.low : 1e-9; // no line: a step
    constexpr double two_pi = 6.283185307179586;
    return {1 / a.factor, a.original / (two_pi * width), a.low / width};
}

/// What stands in its place where positions come piece by piece: x[N,P,C], first[N] (int32) -> y like x, where position
/// i of sample n is number first[n] + i. Heads are split, not their channels.
constexpr description describe_placed_rotary(const rotary_attributes& a, const shape& x) {
    detail::describer w;
    const int n = w.add_loop(loop_name::sample, x[0]);
    const int t = w.add_loop(loop_name::position, x[1]);
    const int h = w.add_loop(loop_name::channel, a.heads);
    const int c = w.add_loop(loop_name::factor, x[2] / a.heads, true);
    const auto rows = [&](operand_kind kind) {
        const int o = w.add_operand(kind, 0);
        w.index(o, x[0], n);
        w.index(o, x[1], t);
        affine channel = w.at(h, x[2] / a.heads);
        channel.terms.push_back({c, 1});
        w.index(o, x[2], channel);
        w.d.operands[o].differentiable = false;
        return o;
    };
    const int input = rows(operand_kind::input);
    const int first = w.add_operand(operand_kind::input, 1, element::i32);
    w.index(first, x[0], n);
    w.d.operands[first].differentiable = false;
    const int output = rows(operand_kind::output);
    w.add_nest(w.all_loops(), bit(input) | bit(first), output, reducer::none, 3);
    return w.d;
}
inline constexpr op_record placed_rotary_record{
    .name = "placed_rotary",
    .infer =
        [](const op_attributes& a, const shape* x, int) {
            const inferred r = detail::infer_rank(x[0], 3, 3);
            const index_t heads = a.as<rotary_attributes>().heads;
            return r.refused || (heads > 0 && x[0][2] % (2 * heads) == 0)
                       ? r
                       : detail::refuse(rule::heads_do_not_divide_channels, x[0][2], 2 * heads);
        },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_placed_rotary(a.as<rotary_attributes>(), *x); },
    .inputs = 2,
    .index_bound = [](const op_attributes&, const shape*, int slot) { return slot == 1 ? index_t{INT32_MAX} : 0; },
};

struct rotary_body : expression::functions, nests::names {
    static constexpr const char* name = "rotary";
    using options = rotary_attributes;

    static constexpr piecewise_use piecewise(const op_attributes& a, const shape*, index_t) {
        piecewise_use u;
        u.attributes = a;
        u.attributes.kind = {&placed_rotary_record};
        return u;
    }

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
        const index_t next_pair = a.halves ? 1 : 2;
        const index_t partner = a.halves ? pairs : 1;
        const auto x = w.input(n, t, 2 * pairs * head + next_pair * pair + partner * from);
        const auto base = w.number(a.base);
        const rotary_scaling scaling = scaling_of(a);
        const auto least = w.number(scaling.least);
        const auto slope = w.number(scaling.slope);
        const auto offset = w.number(scaling.offset);
        const auto plain = exp(-log(base) * (w.index(pair) / w.size(pair)));
        const auto kept = clamp(plain * slope - offset, 0, 1);
        const auto angle = w.index(t) * (plain * (least + (1 - least) * kept));
        const auto r = w.index(to);
        const auto turn = select(r == w.index(from), cos(angle), select(r == 0, -sin(angle), sin(angle)));
        w.output(n, t, 2 * pairs * head + next_pair * pair + partner * to) = w.sum(from, x * turn);
    }
};

} // namespace tessera::op

namespace tessera {

/// rotary: angles are position * Base^(-2 * pair / channels of a head).
template <index_t Base>
struct rotary_base {
    static_assert(Base > 1, "tessera: the base of rotary positions is larger than 1");
    template <class Own>
    requires requires(Own& own) { own.halves; }
    static constexpr void apply(Own& own) { own.base = Base; }
};
/// rotary: a pair is a channel of a head's first half and its like in the second.
struct halves {
    template <class Own>
    requires requires(Own& own) { own.halves; }
    static constexpr void apply(Own& own) { own.halves = true; }
};
/// rotary: frequencies for Factor times as many positions as the Original ones, as LLaMA 3.1 has them: 8, 8192, 1, 4.
template <index_t Factor, index_t Original, index_t Low = 1, index_t High = 4>
struct rotary_scale {
    static_assert(Factor >= 1 && Original >= 1, "tessera: rotary positions are scaled by at least 1, from at least 1");
    static_assert(Low >= 1 && Low < High, "tessera: the high frequency of rotary positions is above the low one");
    template <class Own>
    requires requires(Own& own) { own.halves; }
    static constexpr void apply(Own& own) {
        own.factor = Factor;
        own.original = Original;
        own.low = Low;
        own.high = High;
    }
};

/// rotary<heads<H>, rotary_base<B>, halves, rotary_scale<F, L>>: of queries or keys [N,T,C] with H heads side by side.
template <class... Options>
struct rotary : detail::generated_layer<op::rotary_body, Options...> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
