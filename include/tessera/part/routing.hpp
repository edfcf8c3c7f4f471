// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts whose tokens are sent, as a part of a network (GShard, Lepikhin et al. 2021; Switch Transformer,
// Fedus et al. 2022; Mixtral, Jiang et al. 2024). part/experts.hpp has the same with masks.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/network.hpp"
#include "tessera/op/router_losses.hpp"
#include "tessera/op/routing.hpp"

namespace tessera {

namespace detail {

/// The table of slots by which the experts that are being built get their tokens, as a name of a tensor.
struct slots_of_experts {};
/// By what the experts are chosen whose Router is being built, where that is not their gates.
struct choice_of_experts {};

} // namespace detail

/// x[N,T,C] -> [N,T,C']: Router, a part, makes the gates [N,T,E] of every token, such as branch<gate, softmax<>>, gate
/// being a linear layer with as many outputs as there are experts; Slots, a token_slots<>, gives out the slots of the
/// experts; the tokens are sent in the order of their experts; Experts work on [N,Experts*Slots,C]: with_slots<> of
/// routed_linear layers, and activations; and what they make returns and is summed with the gates as weights.
///
/// - Gates that add up to 1 among a token's experts, as Mixtral's: keep_top<top<2>, normalized> at the end of Router.
/// - Losses beside: aside<router_z_loss<weight<1, 1000>>> behind the gate, aside<load_balance<2, weight<1, 100>>>
///   behind the softmax.
/// - Balance without a loss: bias_balanced<2, bias> behind a sigmoid or softmax, at the end of Router.
/// - A shared expert: branches<add, routed_experts<...>, branch<dense layers>>.
///
/// The data decide on integers alone, and any split is legal: by samples, by positions, by experts (expert
/// parallelism, whose two all-to-alls are described in op/routing.hpp), by channels inside of experts. Gradients flow
/// through the gates, the tokens and the experts, not through the choice.
template <class Slots, class Router, class... Experts>
struct routed_experts {
    struct dispatch : dispatch_tokens {};
    struct combine : combine_tokens {};
    static constexpr int op_count = 2 + detail::ops_in<Router, Slots, Experts...>();

    template <int I>
    static constexpr auto nth() {
        return detail::nth_of<I, routed_experts, Router, Slots, dispatch, Experts..., combine>();
    }
    static constexpr int build(graph_builder& b, int tensor) {
        constexpr type_key choice = key_of<detail::choice_of_experts>;
        const int outer_choice = b.replace_tap(choice, "choice of experts", -1);
        const int gates = detail::append<Router>(b, tensor);
        const int by = b.replace_tap(choice, "choice of experts", outer_choice);
        const int slots = detail::append<Slots>(b, by >= 0 ? by : gates);
        const int sent = detail::apply_layer<dispatch>(b, tensor, slots);
        constexpr type_key key = key_of<detail::slots_of_experts>;
        const int outer = b.replace_tap(key, "slots of experts", slots);
        const int read[3] = {gates, slots, detail::append_all<Experts...>(b, sent)};
        b.replace_tap(key, "slots of experts", outer);
        return b.add_op(combine::attributes, name_of_layer<combine>(), key_of<combine>, false, read, 3);
    }
};

/// A routed_linear layer among the experts of a routed_experts<>, whose slots it works on.
template <class L>
struct with_slots {
    static_assert(Layer<L>, "tessera: with_slots<> takes a layer such as struct up : ts::routed_linear<512> {}");
    static constexpr int op_count = 1;
    template <int>
    static constexpr auto nth() {
        return detail::identity<L>{};
    }
    static constexpr int build(graph_builder& b, int tensor) {
        const int slots = b.find_tap(key_of<detail::slots_of_experts>);
        if (!b.refused && slots < 0) {
            b.refused_at = type_name<L>();
            return b.fail({rule::no_slots_here, 0, -1, 0, 1});
        }
        return detail::apply_layer<L>(b, tensor, slots);
    }
};

/// Losses, or parts that end in one, of a tensor that goes on as it is.
template <class... Losses>
struct aside {
    static constexpr int op_count = detail::ops_in<Losses...>();
    template <int I>
    static constexpr auto nth() {
        return detail::nth_of<I, aside, Losses...>();
    }
    static constexpr int build(graph_builder& b, int tensor) {
        const int ends[] = {tensor, detail::append<Losses>(b, tensor)...};
        return b.refused ? -1 : ends[0];
    }
};

/// load_balance<k, weight<1, 100>>: the loss that keeps k of the experts from getting all tokens, of probabilities
/// [N,T,E]; see load_balance_loss in op/router_losses.hpp. It belongs into aside<>.
template <index_t Top, class... Options>
struct load_balance {
    struct kept : keep_top<top<Top>> {};
    struct loss : load_balance_loss<top<Top>, Options...> {};
    static constexpr int op_count = 2;
    template <int I>
    static constexpr auto nth() {
        return detail::nth_of<I, load_balance, kept, loss>();
    }
    static constexpr int build(graph_builder& b, int tensor) {
        return detail::apply_layer<loss>(b, tensor, detail::append<kept>(b, tensor));
    }
};

/// bias_balanced<k, Bias, weight<1, 10>>: of scores [N,T,E] the gates of the k experts with the largest sums of score
/// and Bias, a choice_bias<> layer, divided by their sum, without the bias. It ends the Router of a routed_experts<>,
/// which then gives out slots by the biased scores. The bias of an expert that gets more than its share falls: by the
/// optimizer's rate times the weight times the excess. (An optimizer with momentum, decay or a norm for clipping treats
/// it as all parameters; give Bias a group of its own where that is not meant.)
template <index_t Top, class Bias, class... Options>
struct bias_balanced {
    static_assert(Layer<Bias>, "tessera: bias_balanced<> takes a layer such as struct bias : ts::choice_bias<> {}");
    struct kept : keep_top<top<Top>> {};
    struct loss : choice_bias_loss<top<Top>, Options...> {};
    struct gates : chosen_gates {};
    static constexpr int op_count = 4;
    template <int I>
    static constexpr auto nth() {
        return detail::nth_of<I, bias_balanced, Bias, kept, loss, gates>();
    }
    static constexpr int build(graph_builder& b, int tensor) {
        const int biased = detail::append<Bias>(b, tensor);
        const int chosen = detail::append<kept>(b, biased);
        b.add_op(loss::attributes, name_of_layer<loss>(), key_of<loss>, false, &chosen, 1, key_of<Bias>);
        b.replace_tap(key_of<detail::choice_of_experts>, "choice of experts", biased);
        return detail::apply_layer<gates>(b, tensor, chosen);
    }
};

} // namespace tessera

#include "tessera/base/end_header.inl"
