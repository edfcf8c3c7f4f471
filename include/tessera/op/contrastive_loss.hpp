// SPDX-License-Identifier: Apache-2.0
// Contrastive losses of two towers: each row of the one is told from all rows of the other in the batch. Written as
// loop nests.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/nest/record.hpp"

namespace tessera {

namespace op {

struct contrastive_options {
    double temperature = 0.07;
    static constexpr attribute_field fields[] = {number_field("temperature")};
};

/// How two towers are compared.
enum class comparison : std::uint8_t { one_way, both_ways, learned };

/// a[N,C] and b[N,C] -> losses[N]. With z[n,m] = scale * (sum over c of a[n,c] b[m,c]), row n loses log(sum over m of
/// exp z[n,m]) - z[n,n]; both ways it is the mean of that and of log(sum over m of exp z[m,n]) - z[n,n]. N are the rows
/// of the global batch.
///
/// The loops are `sample`, of the rows of a, and `reduction`, of those of b. Both may be split: a shard compares its
/// rows of a with its rows of b, and maxima and sums, a number for each row, are put together. Channels are not split.
/// A backend keeps the N x N products.
template <comparison How>
struct contrastive_body : operation<contrastive_body<How>> {
    static constexpr const char* name = How == comparison::one_way     ? "info_nce_loss"
                                        : How == comparison::both_ways ? "contrastive_loss"
                                                                       : "clip_loss";
    using options = contrastive_options;
    static constexpr void body(auto& w, const options& o) {
        namespace e = expression;
        const auto n = w.loop(loop_name::sample, w.extent(0, 0));
        const auto m = w.loop(loop_name::reduction, w.extent(0, 0));
        const auto c = w.loop(loop_name::channel, w.extent(0, 1));
        const auto a = w.input(n, c);
        const auto b = w.input(m, c);
        const auto products = w.sum(c, a * b);
        const auto write = [&](const auto& z) {
            const auto lost_along = [&](const auto& candidates) {
                const auto top = e::stop_gradient(w.max(candidates, z));
                return e::log(w.sum(candidates, e::exp(z - top))) + top;
            };
            const auto pair = w.index(n) == w.index(m);
            if constexpr (How == comparison::one_way) {
                w.loss(n) = w.sum(m, select(pair, lost_along(m) - z, 0));
            } else {
                w.loss(n) = w.sum(m, select(pair, (lost_along(m) + lost_along(n)) * 0.5 - z, 0));
            }
        };
        if constexpr (How == comparison::learned) {
            const auto t = w.parameter(initial_values::zeros, nests::index_of{}); // one number
            write(products * min(e::exp(t), 100));
        } else {
            write(products / w.number(o.temperature));
        }
    }
};

constexpr float clip_initial = 2.6592600F; // log(1 / 0.07)

} // namespace op

/// InfoNCE (van den Oord et al. 2018, "Representation learning with contrastive predictive coding", equation 4, with
/// products over a temperature): the cross-entropy of a row of the first input, by its products with all rows of the
/// second in the global batch, whose class is its own row's number. Of a[N,C] and b[N,C], averaged over the batch. Rows
/// are taken as they are; l2_normalize makes their products cosines.
template <number Temperature = 0.07>
struct info_nce_loss {
    static_assert(Temperature.value() > 0, "tessera: a temperature is above 0");
    static constexpr op_attributes attributes =
        detail::generated_attributes<op::contrastive_body<op::comparison::one_way>>({Temperature.value()});
};

/// The same both ways: the mean of a's rows among b's and of b's rows among a's.
template <number Temperature = 0.07>
struct contrastive_loss {
    static_assert(Temperature.value() > 0, "tessera: a temperature is above 0");
    static constexpr op_attributes attributes =
        detail::generated_attributes<op::contrastive_body<op::comparison::both_ways>>({Temperature.value()});
};

/// Both ways, with a temperature that is learned, as in CLIP (Radford et al. 2021, "Learning transferable visual models
/// from natural language supervision", section 2.5): products are scaled by exp(t), 100 at most. The parameter t[1] is
/// log(1 / 0.07) at first, or what initial_weights says.
template <class... Options>
struct clip_loss {
    static constexpr op_attributes attributes = [] {
        op_attributes a = detail::generated_attributes<op::contrastive_body<op::comparison::learned>, Options...>({});
        if (!a.initial[0].said) {
            a.initial[0] = {initial_values::constant, op::clip_initial, true};
        }
        return a;
    }();
};

/// Rows of length 1: x / max(|x|, 1e-12) over the channels, of [N,C] or [N,T,C].
struct l2_normalize : operation<l2_normalize> {
    static constexpr const char* name = "l2_normalize";
    static constexpr int ranks[] = {2, 3};
    static constexpr void body(auto& w) {
        const auto all = w.dimensions();
        const auto x = w.input(all);
        w.output(all) = x * rsqrt(max(w.sum(all.last(), x * x), 1e-24));
    }
};

} // namespace tessera

#include "tessera/base/end_header.inl"
