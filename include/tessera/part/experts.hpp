// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts as a part of a network (Shazeer et al. 2017; GShard, Lepikhin et al. 2021, algorithm 1; Switch
// Transformer, Fedus et al. 2022, for Top = 1).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/network.hpp"
#include "tessera/op/expert.hpp"
#include "tessera/op/matmul.hpp"
#include "tessera/op/softmax.hpp"

namespace tessera {

/// x[N,T,C] -> [N,T,C']: Gate (a linear layer with as many outputs as there are experts) and a softmax rate the experts
/// for every token; the token goes to the Top best of them, as far as they have one of their Slots left for the tokens
/// of its sample; Experts (expert_linear layers and activations) work on [N,Experts*Slots,C]; and what they make is
/// summed with the gates as weights. In all of it the data decide only on the entries of a mask, with which products of
/// activations dispatch and combine, so that any split is legal: by samples, by positions, and by experts. The loss
/// that balances the experts' loads in these papers is left to the user.
template <index_t Slots, int Top, class Gate, class... Experts>
struct mixture_of_experts {
    struct mask : dispatch_mask<Slots, top<Top>> {};
    struct weights : combine_weights<Slots, top<Top>> {};
    struct dispatch : matmul<transpose_first> {};
    struct combine : matmul<> {};
    static constexpr int op_count = 6 + detail::ops_in<Experts...>();

    template <int I>
    static constexpr auto nth() {
        return detail::nth_of<I, mixture_of_experts, Gate, softmax<>, mask, dispatch, Experts..., weights, combine>();
    }
    static constexpr int build(graph_builder& b, int tensor) {
        const int gates = detail::append_all<Gate, softmax<>>(b, tensor);
        const int sent = detail::apply_layer<dispatch>(b, detail::append<mask>(b, gates), tensor);
        const int made = detail::append_all<Experts...>(b, sent);
        return detail::apply_layer<combine>(b, detail::append<weights>(b, gates), made);
    }
};

} // namespace tessera

#include "tessera/base/end_header.inl"
