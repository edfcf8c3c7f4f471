// SPDX-License-Identifier: Apache-2.0
// From a network type to its value, in a constant expression (describe<Net, Batch>) or at run time (describe<Net>(batch)).
#pragma once

#include "tessera/base/error.hpp"
#include "tessera/net/network.hpp"

#include <string>

namespace tessera {

namespace detail {

/// Inputs that a network names itself.
template <class Net>
constexpr int inputs_of() {
    if constexpr (requires { Net::input_count; }) {
        return Net::input_count;
    } else {
        return 1;
    }
}

/// The most tensors that a network can have: an operator adds one, and a loss its labels.
template <class Net>
inline constexpr int tensors_of = 2 * Net::op_count + inputs_of<Net>() + 1;

/// The arrays of one network. An operator has at most three parameters.
template <int Ops, int Tensors>
struct graph_storage {
    tensor_node tensors[static_cast<std::size_t>(Tensors)]{};
    parameter_node parameters[static_cast<std::size_t>(3 * Ops + 1)]{};
    op_node ops[static_cast<std::size_t>(Ops + 1)]{};
    int tensor_count = 0;
    int parameter_count = 0;
    int op_count = 0;
    problem refused;

    constexpr graph_view view() const { return {tensors, parameters, ops, tensor_count, parameter_count, op_count}; }
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
        has_loss = has_loss || b.ops[i].attributes.kind == op_kind::cross_entropy;
    }
    if (!has_loss && !b.refused) {
        b.refused_at = {};
        b.fail({rule::network_has_no_loss, 0, -1, 0, 1});
    }
}

template <class Net>
constexpr void build_into(graph_storage<Net::op_count, tensors_of<Net>>& g, index_t batch) {
    graph_builder b;
    b.tensors = g.tensors;
    b.parameters = g.parameters;
    b.ops = g.ops;
    build_whole<Net>(b, batch);
    g.tensor_count = b.tensor_count;
    g.parameter_count = b.parameter_count;
    g.op_count = b.op_count;
    g.refused = b.refused;
}

template <class Net, index_t Batch>
constexpr auto make_storage() {
    graph_storage<Net::op_count, tensors_of<Net>> g;
    build_into<Net>(g, Batch);
    return g;
}

template <class Net, index_t Batch>
inline constexpr auto storage_of = make_storage<Net, Batch>();

} // namespace detail

/// The description of a broken rule: which layer, along what, by which numbers.
inline std::string to_text(const problem& p, std::string_view layer_name) {
    std::string text = "tessera: ";
    text += to_text(p.broken);
    text += " [layer ";
    text += layer_name.empty() ? std::string_view("(the network itself)") : layer_name;
    if (p.dimension >= 0) {
        text += ", along ";
        text += to_text(static_cast<loop_name>(p.dimension));
    }
    text += ", found ";
    text += std::to_string(p.found);
    text += ", needed ";
    text += std::to_string(p.needed);
    text += "]";
    return text;
}

/// The operator at which a network breaks a rule, as a type; for messages.
template <class Net, int Op>
struct layer_at {
    static constexpr auto find() {
        if constexpr (Op >= 0 && Op < Net::op_count) {
            return Net::template nth<Op>();
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
    static constexpr bool test() {
        if constexpr (p.broken == rule::none) {
            return true;
        } else if constexpr (p.dimension >= 0) {
            return refuse<p.broken, layer<typename layer_at<Net, p.op>::type>,
                          along<static_cast<loop_name>(p.dimension)>, found<p.found>, needed<p.needed>>();
        } else {
            return refuse<p.broken, layer<typename layer_at<Net, p.op>::type>, found<p.found>, needed<p.needed>>();
        }
    }
    static constexpr bool ok = test();
};

/// The network as a constant, for a batch that is one too.
template <class Net, index_t Batch>
constexpr graph_view describe() {
    if constexpr (check_network<Net, Batch>::test()) {
        return detail::storage_of<Net, Batch>.view();
    } else {
        return {};
    }
}

/// The network for any batch. Throws tessera::error with the words of the rule that it breaks.
template <class Net>
graph describe(index_t batch) {
    graph g;
    g.tensors.resize(static_cast<std::size_t>(detail::tensors_of<Net>));
    g.parameters.resize(static_cast<std::size_t>(3 * Net::op_count + 1));
    g.ops.resize(static_cast<std::size_t>(Net::op_count + 1));
    graph_builder b;
    b.tensors = g.tensors.data();
    b.parameters = g.parameters.data();
    b.ops = g.ops.data();
    detail::build_whole<Net>(b, batch);
    if (b.refused) {
        throw error(to_text(b.refused, b.refused_at));
    }
    g.tensors.resize(static_cast<std::size_t>(b.tensor_count));
    g.parameters.resize(static_cast<std::size_t>(b.parameter_count));
    g.ops.resize(static_cast<std::size_t>(b.op_count));
    return g;
}

} // namespace tessera
