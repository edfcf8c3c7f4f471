// SPDX-License-Identifier: Apache-2.0
// From a network type to its value, in a constant expression (describe<Net, Batch>) or at run time
// (describe<Net>(batch)).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/problem_text.hpp"
#include "tessera/net/lengths.hpp"
#include "tessera/net/network.hpp"

#include <string>

namespace tessera {

namespace detail {

/// The arrays of one network.
template <int Tensors, int Parameters, int Ops>
struct graph_storage {
    tensor_node tensors[to_size(Tensors + 1)]{};
    parameter_node parameters[to_size(Parameters + 1)]{};
    op_node ops[to_size(Ops + 1)]{};
    problem refused;
    bool misnumbered = false;

    constexpr graph_view view() const { return {tensors, parameters, ops, Tensors, Parameters, Ops}; }
};

template <class Net>
constexpr void build_whole(graph_builder& b, index_t batch) {
    b.batch = batch;
    if (batch < 1) {
        b.fail({rule::batch_is_empty, 0, -1, batch, 1});
    }
    Net::build(b);
    bool has_loss = false;
    for (int i = 0; i < b.op_count; ++i) {
        has_loss = has_loss || record_of(b.ops[i].attributes).facts.loss;
    }
    if (!has_loss && !b.refused) {
        b.refused_at = {};
        b.fail({rule::network_has_no_loss, 0, -1, 0, 1});
    }
}

/// How many of each a network has, or had when it broke a rule.
struct graph_counts {
    int tensors = 0;
    int parameters = 0;
    int ops = 0;
};

template <class Net>
constexpr graph_counts count_nodes(index_t batch) {
    graph_builder b;
    constexpr int stated = ops_of<Net>(); // no more than a hint
    constexpr int room = stated < 1 || stated > 1 << 20 ? 1 : stated;
    b.ops.reserve(room);
    b.tensors.reserve(room + 2);
    b.parameters.reserve(room);
    build_whole<Net>(b, batch);
    return {b.tensor_count, b.parameter_count, b.op_count};
}

template <class Net, index_t Batch>
inline constexpr graph_counts counts_of = count_nodes<Net>(Batch);

template <class Net, index_t Batch>
constexpr auto make_storage() {
    constexpr graph_counts n = counts_of<Net, Batch>;
    graph_storage<n.tensors, n.parameters, n.ops> g;
    graph_builder b;
    b.tensors.lend(g.tensors, n.tensors);
    b.parameters.lend(g.parameters, n.parameters);
    b.ops.lend(g.ops, n.ops);
    build_whole<Net>(b, Batch);
    g.refused = b.refused ? b.refused : problem_of_lengths(g.view());
    g.misnumbered = b.misnumbered;
    return g;
}

template <class Net, index_t Batch>
inline constexpr auto storage_of = make_storage<Net, Batch>();

} // namespace detail

/// The description of a broken rule: which layer, along what, by which numbers.
std::string to_text(const problem& p, std::string_view layer_name, std::string_view missing = {});

/// The operator at which a network breaks a rule, as a type; for messages. The network itself where it is not known
/// which.
template <class Net, int Op>
struct layer_at {
    static constexpr auto find() {
        if constexpr (Op >= 0 && Op < detail::ops_of<Net>()) {
            return detail::nth_in<Op, Net>();
        } else {
            return detail::identity<Net>{};
        }
    }
    using type = typename decltype(find())::type;
};

/// Refuses at compile time, naming the layer, the dimension and the numbers, a network that breaks a rule.
template <class Net, index_t Batch = 64>
struct check_network {
    static constexpr problem p = detail::storage_of<Net, Batch>.refused;
    static constexpr int place = detail::storage_of<Net, Batch>.misnumbered ? -1 : p.op;
    static constexpr bool test() {
        if constexpr (p.broken == rule::none) {
            return true;
        } else if constexpr (p.missing >= 0 && place >= 0 && requires { Net::template missing<place, p.missing>(); }) {
            return refuse<p.broken, layer<typename layer_at<Net, place>::type>,
                          missing<typename decltype(Net::template missing<place, p.missing>())::type>, found<p.found>,
                          needed<p.needed>>();
        } else if constexpr (p.dimension >= 0) {
            return refuse<p.broken, layer<typename layer_at<Net, place>::type>,
                          along<static_cast<loop_name>(p.dimension)>, found<p.found>, needed<p.needed>>();
        } else {
            return refuse<p.broken, layer<typename layer_at<Net, place>::type>, found<p.found>, needed<p.needed>>();
        }
    }
    static constexpr bool ok = test();
};

namespace detail {

template <class Layer>
[[deprecated("tessera: the loss makes probabilities of logits itself, and is given a softmax's probabilities instead; "
             "take the softmax out of the network, for predictions apply it to what predict() returns")]] constexpr void
given_probabilities() {}

/// The first loss that takes logits and is given probabilities; -1: none is.
constexpr int loss_of_probabilities(const graph_view& g) {
    for (int op = 0; op < g.op_count; ++op) {
        const int maker = g.tensors[g.ops[op].inputs.items[0]].producer;
        if (record_of(g.ops[op].attributes).takes_logits && maker >= 0 &&
            record_of(g.ops[maker].attributes).makes_probabilities) {
            return op;
        }
    }
    return -1;
}

/// A warning of the compiler.
template <class Net, index_t Batch>
constexpr void warn_of_probabilities() {
    constexpr int op = loss_of_probabilities(storage_of<Net, Batch>.view());
    if constexpr (op >= 0) {
        given_probabilities<typename layer_at<Net, op>::type>();
    }
}

} // namespace detail

/// The network as a constant, for a batch that is one too.
template <class Net, index_t Batch>
constexpr graph_view describe() {
    if constexpr (check_network<Net, Batch>::test()) {
        detail::warn_of_probabilities<Net, Batch>();
        return detail::storage_of<Net, Batch>.view();
    } else {
        return {};
    }
}

/// The network for any batch without a look at compile time, such as for a thousand layers, which take long in a
/// constant expression. Throws tessera::error with the words of the rule that it breaks.
template <class Net>
graph describe_at_run_time(index_t batch) {
    graph_builder b;
    detail::build_whole<Net>(b, batch);
    if (b.refused) {
        throw error(to_text(b.refused, b.refused_at, b.refused.missing >= 0 ? b.missing : std::string_view()));
    }
    graph g = b.built();
    if (const problem p = problem_of_lengths(g.view())) {
        throw error(to_text(p, p.op < 0 ? std::string_view() : g.ops[to_size(p.op)].name));
    }
    return g;
}

namespace detail {

/// Rules that a network may break for one batch and keep for another.
constexpr bool depends_on_batch(rule r) { return r == rule::batch_is_empty || r == rule::extent_too_large; }

} // namespace detail

/// The network for any batch. One that breaks a rule whatever the batch does not compile; where the rule depends on the
/// batch (an empty one, tensors that are too large) throws tessera::error with its words.
template <class Net>
graph describe(index_t batch) {
    if constexpr (!detail::depends_on_batch(check_network<Net>::p.broken)) {
        if constexpr (check_network<Net>::test()) {
            detail::warn_of_probabilities<Net, 64>();
        }
    }
    return describe_at_run_time<Net>(batch);
}

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/net/describe.inl"
#endif

#include "tessera/base/end_header.inl"
