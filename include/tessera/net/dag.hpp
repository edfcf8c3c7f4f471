// SPDX-License-Identifier: Apache-2.0
// General networks: a list of named inputs and nodes, each of which says by name what it reads.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/network.hpp"

namespace tessera {

/// A named input of a dag.
template <class Name, class What>
struct input;
/// A named operator of a dag with the names of its inputs, in order.
template <class Name, class L, class... From>
struct node;

namespace detail {

/// The names of what an entry of a dag reads, for messages.
template <class... Names>
struct names_read {};

template <int I, class First, class... Rest>
constexpr auto nth_name(names_read<First, Rest...>) {
    if constexpr (I == 0) {
        return identity<First>{};
    } else {
        return nth_name<I - 1>(names_read<Rest...>{});
    }
}
/// Name `Which` of those that the entry with operator Op reads.
template <int Op, int Which, class First, class... Rest>
constexpr auto name_read() {
    if constexpr (Op >= ops_of<First>()) {
        return name_read<Op - ops_of<First>(), Which, Rest...>();
    } else {
        return nth_name<Which>(typename First::reads{});
    }
}

template <class Entry>
constexpr bool append_entry(graph_builder& b) {
    const int before = b.op_count;
    Entry::append_to(b);
    check_count<Entry>(b, before);
    return true;
}

} // namespace detail

/// A network as a list of inputs and nodes, each node after what it reads. Several losses may stand in it; their
/// weighted sum is minimized.
template <class... Entries>
struct dag {
    static constexpr int op_count = detail::ops_in<Entries...>();
    template <int I>
    static constexpr auto nth() {
        return detail::nth_of<I, dag, Entries...>();
    }
    /// The name that the entry with operator Op reads as its input Which, for messages.
    template <int Op, int Which>
    requires(Op >= 0 && Which >= 0) static constexpr auto missing() {
        return detail::name_read<Op, Which, Entries...>();
    }
    static constexpr void build(graph_builder& b) {
        const bool done[] = {true, detail::append_entry<Entries>(b)...};
        static_cast<void>(done);
    }
};

template <class Name, class What>
struct input {
    static constexpr int op_count = 0;
    static constexpr void append_to(graph_builder& b) {
        if (!b.refused) {
            const std::string_view name = name_of_layer<Name>().own;
            const int tensor = b.add_input(What::extents(b.batch), What::type, name, is_any_length<What>());
            b.add_tap(key_of<Name>, name, tensor, rule::node_named_twice);
        }
    }
};

namespace detail {

/// What is read is not there.
constexpr void fail_without(graph_builder& b, std::string_view name, int which) {
    problem p{rule::unknown_node, 0, -1, 0, 1};
    p.missing = which;
    b.missing = name;
    b.fail(p);
}

/// A node by the key under which its parameters are shared or not.
template <class Name, class... From>
constexpr void append_node(graph_builder& b, const op_attributes& a, const layer_name& name, type_key key,
                           bool is_shared, type_key tied_to = 0) {
    if (b.refused) {
        return;
    }
    b.refused_at = type_name<Name>();
    const int from[] = {b.find_tap(key_of<From>)...};
    for (int i = 0; i < static_cast<int>(sizeof...(From)); ++i) {
        if (from[i] < 0) {
            const std::string_view names[] = {type_name<From>()...};
            fail_without(b, names[i], i);
            return;
        }
    }
    if (b.find_tap(key_of<Name>) >= 0) {
        b.fail({rule::node_named_twice, 0, -1, 2, 1});
        return;
    }
    const int out = b.add_op(a, name, key, is_shared, from, static_cast<int>(sizeof...(From)), tied_to);
    b.add_tap(key_of<Name>, type_name<Name>(), out, rule::node_named_twice);
}

} // namespace detail

template <class Name, class L, class... From>
struct node {
    static_assert(sizeof...(From) >= 1, "tessera: a node names at least one input");
    static constexpr int op_count = 1;
    template <int>
    static constexpr auto nth() {
        return detail::identity<Name>{};
    }
    static constexpr void append_to(graph_builder& b) {
        if constexpr (Layer<L>) {
            detail::append_node<Name, From...>(b, L::attributes, name_of_layer<Name>(), key_of<Name>, false);
        } else {
            detail::refuse_no_layer<L>(b);
        }
    }
    using reads = detail::names_read<From...>;
};

template <class Name, class L, class... From>
struct node<Name, shared<L>, From...> {
    static_assert(sizeof...(From) >= 1, "tessera: a node names at least one input");
    static constexpr int op_count = 1;
    template <int>
    static constexpr auto nth() {
        return detail::identity<Name>{};
    }
    static constexpr void append_to(graph_builder& b) {
        if constexpr (Layer<L>) {
            detail::append_node<Name, From...>(b, L::attributes, name_of_layer<L>(), key_of<L>, true);
        } else {
            detail::refuse_no_layer<L>(b);
        }
    }
    using reads = detail::names_read<From...>;
};

template <class Name, class L, class Source, class... From>
struct node<Name, tied<L, Source>, From...> {
    static_assert(sizeof...(From) >= 1, "tessera: a node names at least one input");
    static_assert(Layer<L> && Layer<Source>, "tessera: tied<> takes two layers");
    static constexpr int op_count = 1;
    template <int>
    static constexpr auto nth() {
        return detail::identity<Name>{};
    }
    static constexpr void append_to(graph_builder& b) {
        detail::append_node<Name, From...>(b, L::attributes, name_of_layer<Name>(), key_of<Name>, false,
                                           key_of<Source>);
    }
    using reads = detail::names_read<From...>;
};

/// Parts one after the other in a dag, from the tensor called From; their result is called Name.
template <class Name, class From, class... Parts>
struct chain {
    static constexpr int op_count = detail::ops_in<Parts...>();
    static_assert(op_count >= 1, "tessera: a chain has at least one operator");
    template <int I>
    static constexpr auto nth() {
        return detail::nth_of<I, chain, Parts...>();
    }
    static constexpr void append_to(graph_builder& b) {
        if (!b.refused) {
            const int from = b.find_tap(key_of<From>);
            b.refused_at = type_name<Name>();
            from < 0 ? detail::fail_without(b, type_name<From>(), 0)
                     : static_cast<void>(b.add_tap(key_of<Name>, type_name<Name>(),
                                                   detail::append_all<Parts...>(b, from), rule::node_named_twice));
        }
    }
    using reads = detail::names_read<From>;
};

} // namespace tessera

#include "tessera/base/end_header.inl"
