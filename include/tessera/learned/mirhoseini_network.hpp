// SPDX-License-Identifier: Apache-2.0
// The policy of Mirhoseini et al. (ICML 2017, "Device placement optimization with reinforcement learning", section 3,
// as recalled): a sequence of groups in, a device for each out, by recurrent networks with attention.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/learned/ppo_loss.hpp"
#include "tessera/learned/superposition.hpp"
#include "tessera/net/dag.hpp"
#include "tessera/net/describe.hpp"
#include "tessera/op/add.hpp"
#include "tessera/op/concat.hpp"
#include "tessera/op/cross_entropy.hpp"
#include "tessera/op/embedding.hpp"
#include "tessera/op/linear.hpp"
#include "tessera/op/matmul.hpp"
#include "tessera/op/softmax.hpp"
#include "tessera/op/tanh.hpp"
#include "tessera/part/gru.hpp"
#include "tessera/part/padded.hpp"

namespace tessera::learned {

/// How large the policy is.
struct mirhoseini_shape {
    int groups = 24;  ///< most groups of a graph: shorter sequences are padded
    int features = 8; ///< numbers of a group
    int devices = 4;
    int width = 16;  ///< of the vectors of devices that the decoder reads
    int hidden = 32; ///< of both recurrences

    constexpr bool is_sound() const { return groups > 0 && features > 0 && devices > 1 && width > 0 && hidden > 0; }
};

/// The parts of the policy. A GRU (the paper's are LSTMs, which are twice as many operators when unrolled) reads the
/// groups in topological order. A second one, which starts from where the first ended, has a step for every group:
/// it reads a vector of the device that the group before was given (of none at the first), attends to all that the
/// first made (Luong et al. 2015, general scores, where the paper has those of Bahdanau et al., as recalled), and makes
/// the logits of the group's device. Ours: besides what it attends to it reads what the first made of the same group,
/// which attention would otherwise have to find.
template <mirhoseini_shape S>
struct mirhoseini_parts {
    static_assert(S.is_sound(), "tessera: the policy has at least one of everything and two devices");

    struct groups;
    struct previous; ///< device of the group before; S.devices: none
    struct choices;
    struct advantages;
    struct weights;
    struct bonuses;

    struct encode : linear<3 * S.hidden> {};
    struct encode_again : linear<3 * S.hidden> {};
    struct decode : linear<3 * S.hidden> {};
    struct decode_again : linear<3 * S.hidden> {};
    struct device_vectors : embedding<S.devices + 1, S.width> {};
    struct general : linear<S.hidden, no_bias> {};
    struct combine : linear<S.hidden> {};
    struct head : linear<S.devices> {};

    using encoder = gru_cell<S.hidden, encode, encode_again>;
    using decoder = gru_cell<S.hidden, decode, decode_again, encoder>;
    /// The state before one step of the decoder, as inputs.
    struct before {
        struct last_hidden;
    };
    using one_step = gru_cell<S.hidden, decode, decode_again, before>;

    struct memory;
    struct same; ///< what the encoder made of the groups that the decoder is at
    struct state;
    struct queries;
    struct scores;
    struct looks;
    struct mixed;
    struct joined;
    struct logits;
    struct loss;
    struct truth;

    template <class Own>
    using chosen =
        entries<node<queries, general, state>, node<scores, matmul<transpose_second>, queries, memory>,
                node<looks, padded_softmax<>, scores, tessera::lengths>, node<mixed, matmul<>, looks, memory>,
                node<joined, concat, mixed, state, Own>, chain<logits, joined, combine, tanh, head>>;

    /// All steps at once, for training: the devices of groups before are known.
    using network = dag<input<groups, sequence<S.groups, S.features>>, input<tessera::lengths, tessera::lengths>,
                        input<previous, tokens<S.groups>>, input<choices, tokens<S.groups>>,
                        input<advantages, features<1>>, input<weights, features<S.groups>>, input<bonuses, features<1>>,
                        chain<memory, groups, with_lengths<gru<S.groups, encoder>>>,
                        chain<state, previous, device_vectors, gru<S.groups, decoder>>, chosen<memory>,
                        node<loss, reinforce_loss, logits, choices, advantages, weights, bonuses>>;
    /// One step of the decoder, for drawing devices one after the other. Its loss is never asked for.
    using step_network = dag<input<memory, sequence<S.groups, S.hidden>>, input<tessera::lengths, tessera::lengths>,
                             input<previous, tokens<1>>, input<typename before::last_hidden, sequence<1, S.hidden>>,
                             input<same, sequence<1, S.hidden>>, input<truth, tokens<1>>,
                             chain<state, previous, device_vectors, gru<1, one_step>>, chosen<same>,
                             node<loss, cross_entropy, logits, truth>>;
};

template <mirhoseini_shape S>
struct mirhoseini_network : mirhoseini_parts<S>::network {};
template <mirhoseini_shape S>
struct mirhoseini_step_network : mirhoseini_parts<S>::step_network {};

/// The number of the tensor that a network calls Name.
template <class Net, class Name>
int tensor_called() {
    graph_builder b;
    tessera::detail::build_whole<Net>(b, 1);
    return b.find_tap(key_of<Name>);
}

} // namespace tessera::learned

#include "tessera/base/end_header.inl"
