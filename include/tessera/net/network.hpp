// SPDX-License-Identifier: Apache-2.0
// Networks as types. Each part is a small type whose `build` appends to the graph value; all rules work on that value.
// A part of one's own has `static constexpr int build(graph_builder&, int tensor)`, which returns the tensor that it
// ends with, and, for compile errors that name its layers, op_count and nth. One that stands for a layer, whose type
// names its operator, has build_as<Layer> and nth_as<I, Layer> instead. Here are the parts that take any layers; those
// that are made of certain operators are in part/, and general networks in net/dag.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/graph_builder.hpp"
#include "tessera/net/inputs.hpp"
#include "tessera/op/records.hpp"

namespace tessera {

/// Parts one after the other. At the top of a network the first part is its input; a loss makes an input `labels`.
template <class... Parts>
struct sequential;
/// One of several ways from a tensor; without parts, the tensor itself.
template <class... Parts>
struct branch;
/// Join of branches that start from the same tensor; Join is a layer that takes them all, such as a concatenation.
template <class Join, class... Branches>
struct branches;
/// Count copies of the parts, each with parameters of its own.
template <int Count, class... Parts>
struct repeat;
/// Uses of the layer that share one set of parameters.
template <class L>
struct shared;
/// Remembers the tensor under a name, for a later tap.
template <class Name>
struct save;
/// Joins the tensor saved under a name with the current one, the saved one first; Join is a layer that takes two.
template <class Join, class Name>
struct tap;

namespace detail {

template <class T>
struct identity {
    using type = T;
};

/// A loss in a sequential network brings its labels along; a batch calls them `labels`.
/// `tied_to`: whose parameters it has; 0: its own.
constexpr int append_loss(graph_builder& b, const op_attributes& a, const layer_name& name, type_key key, int tensor,
                          type_key tied_to = 0) {
    const label_tensor expected = labels_of(a, b.tensors[tensor].extents);
    const int both[2] = {tensor, b.add_input(expected.extents, expected.type, "labels")};
    if (b.find_tap(key_of<labels>) < 0) {
        b.add_tap(key_of<labels>, "labels", both[1], rule::tap_saved_twice);
    }
    return b.add_op(a, name, key, false, both, 2, tied_to);
}

/// A layer on one or two tensors.
template <class L>
constexpr int apply_layer(graph_builder& b, int x, int y = -1, bool is_shared = false) {
    if (b.refused) {
        return -1;
    }
    const int both[2] = {x, y};
    return b.add_op(L::attributes, name_of_layer<L>(), key_of<L>, is_shared, both, y < 0 ? 1 : 2);
}

/// What may stand in a network behind its input.
template <class P>
concept Part = Layer<P> || NetworkInput<P> || requires(graph_builder& b) {
    P::build(b, 0);
} || requires(graph_builder& b) {
    P::template build_as<P>(b, 0);
};

/// Refuses what should be a layer and is none, such as one with a private base.
template <class L>
constexpr int refuse_no_layer(graph_builder& b) {
    if (!b.refused) {
        b.refused_at = type_name<L>();
        b.fail({rule::no_layer, 0, -1, 0, 1});
    }
    return -1;
}

/// Operators of a part, as far as it says how many; compile errors name layers by them, and nothing else rests on them.
template <class P>
constexpr int ops_of() {
    if constexpr (Layer<P>) {
        return 1;
    } else if constexpr (requires { P::op_count; }) {
        return P::op_count;
    } else {
        return Part<P> ? 0 : 1; // so that the message names what is none
    }
}

/// Notes where a part has another number of operators than it states.
template <class P>
constexpr void check_count(graph_builder& b, int before) {
    const int stated = ops_of<P>();
    const int made = b.op_count - before;
    b.misnumbered = b.misnumbered || (b.refused ? made > stated || (made == stated && made > 0) : made != stated);
}

template <class P>
constexpr int append(graph_builder& b, int tensor) {
    if (b.refused) {
        return -1;
    }
    if constexpr (NetworkInput<P>) {
        return b.fail({rule::input_not_first, 0, -1, 1, 0});
    } else if constexpr (Layer<P>) {
        if (record_of(P::attributes).facts.loss && record_of(P::attributes).inputs == 2) {
            return append_loss(b, P::attributes, name_of_layer<P>(), key_of<P>, tensor);
        }
        return b.add_op(P::attributes, name_of_layer<P>(), key_of<P>, false, &tensor, 1);
    } else if constexpr (!Part<P>) {
        return refuse_no_layer<P>(b);
    } else {
        const int before = b.op_count;
        int end = -1;
        if constexpr (requires { P::template build_as<P>(b, tensor); }) {
            end = P::template build_as<P>(b, tensor);
        } else {
            end = P::build(b, tensor);
        }
        check_count<P>(b, before);
        return end;
    }
}

template <class... Parts>
constexpr int append_all(graph_builder& b, int tensor) {
    // Lists instead of folds here and below: clang nests a fold's operands, at most 256 deep.
    const int ends[] = {tensor, (tensor = append<Parts>(b, tensor))...};
    return ends[sizeof...(Parts)];
}

template <class... Parts>
constexpr int ops_in() {
    const int counts[] = {0, ops_of<Parts>()...};
    int sum = 0;
    for (const int count : counts) {
        sum += count;
    }
    return sum;
}

/// The layer type behind operator I of a part, for messages.
template <int I, class P>
constexpr auto nth_in() {
    if constexpr (requires { P::template nth_as<I, P>(); }) {
        return P::template nth_as<I, P>();
    } else if constexpr (requires { P::template nth<I>(); }) {
        return P::template nth<I>();
    } else {
        return identity<P>{};
    }
}
template <int I, class Owner>
constexpr auto nth_of() {
    return identity<Owner>{}; // an operator that the part itself adds, such as the addition of a residual
}
template <int I, class Owner, class First, class... Rest>
constexpr auto nth_of() {
    if constexpr (I < ops_of<First>()) {
        return nth_in<I, First>();
    } else {
        return nth_of<I - ops_of<First>(), Owner, Rest...>();
    }
}

} // namespace detail

template <class... Parts>
struct branch {
    static constexpr int op_count = detail::ops_in<Parts...>();
    template <int I>
    static constexpr auto nth() {
        return detail::nth_of<I, branch, Parts...>();
    }
    static constexpr int build(graph_builder& b, int tensor) { return detail::append_all<Parts...>(b, tensor); }
};

template <class Join, class... Branches>
struct branches {
    static constexpr int op_count = 1 + detail::ops_in<Branches...>();
    template <int I>
    static constexpr auto nth() {
        return detail::nth_of<I, branches, Branches...>();
    }
    static constexpr int build(graph_builder& b, int tensor) {
        const int ends[] = {detail::append<Branches>(b, tensor)...};
        if constexpr (Layer<Join>) {
            return b.refused ? -1
                             : b.add_op(Join::attributes, name_of_layer<Join>(), key_of<Join>, false, ends,
                                        static_cast<int>(sizeof...(Branches)));
        } else {
            return detail::refuse_no_layer<Join>(b);
        }
    }
};

template <int Count, class... Parts>
struct repeat {
    static_assert(Count >= 1, "tessera: repeat<> needs a count of at least 1");
    static constexpr int op_count = Count * detail::ops_in<Parts...>();
    template <int I>
    static constexpr auto nth() {
        return detail::nth_of<I % (op_count / Count > 0 ? op_count / Count : 1), repeat, Parts...>();
    }
    static constexpr int build(graph_builder& b, int tensor) {
        ++b.repeating;
        for (int i = 0; i < Count; ++i) {
            tensor = detail::append_all<Parts...>(b, tensor);
        }
        --b.repeating;
        return tensor;
    }
};

template <class L>
struct shared {
    static_assert(Layer<L>, "tessera: shared<> takes a layer");
    static constexpr int op_count = 1;
    template <int>
    static constexpr auto nth() {
        return detail::identity<L>{};
    }
    static constexpr int build(graph_builder& b, int tensor) {
        return b.add_op(L::attributes, name_of_layer<L>(), key_of<L>, true, &tensor, 1);
    }
};

/// The layer L with the parameters of an earlier layer, as far as that has them: an output layer tied to an embedding.
template <class L, class Source>
struct tied {
    static_assert(Layer<L> && Layer<Source>, "tessera: tied<> takes two layers");
    static constexpr int op_count = 1;
    template <int>
    static constexpr auto nth() {
        return detail::identity<L>{};
    }
    static constexpr int build(graph_builder& b, int tensor) {
        if (record_of(L::attributes).facts.loss && record_of(L::attributes).inputs == 2) {
            return detail::append_loss(b, L::attributes, name_of_layer<L>(), key_of<L>, tensor, key_of<Source>);
        }
        return b.add_op(L::attributes, name_of_layer<L>(), key_of<L>, false, &tensor, 1, key_of<Source>);
    }
};

template <class Name>
struct save {
    static constexpr int op_count = 0;
    static constexpr int build(graph_builder& b, int tensor) {
        return b.add_tap(key_of<Name>, type_name<Name>(), tensor, rule::tap_saved_twice);
    }
};

template <class Join, class Name>
struct tap {
    static constexpr int op_count = 1;
    template <int>
    static constexpr auto nth() {
        return detail::identity<tap>{};
    }
    static constexpr int build(graph_builder& b, int tensor) {
        const int both[2] = {b.find_tap(key_of<Name>), tensor};
        if (both[0] < 0) {
            b.refused_at = type_name<Name>();
            return b.fail({rule::tap_not_saved, 0, -1, 0, 1});
        }
        if constexpr (Layer<Join>) {
            return b.add_op(Join::attributes, name_of_layer<Join>(), key_of<Join>, false, both, 2);
        } else {
            return detail::refuse_no_layer<Join>(b);
        }
    }
};

template <class First, class... Parts>
struct sequential<First, Parts...> {
    static constexpr int op_count = detail::ops_in<First, Parts...>();
    template <int I>
    static constexpr auto nth() {
        return detail::nth_of<I, sequential, First, Parts...>();
    }
    static constexpr int build(graph_builder& b, int tensor) { return detail::append_all<First, Parts...>(b, tensor); }
    /// The whole network, from its input, which a batch calls by its type.
    static constexpr void build(graph_builder& b) {
        if constexpr (NetworkInput<First>) {
            const int start = b.add_input(First::extents(b.batch), First::type, "input", is_any_length<First>());
            b.add_tap(key_of<First>, "input", start, rule::tap_saved_twice);
            detail::append_all<Parts...>(b, start);
        } else {
            b.fail({rule::input_not_first, 0, -1, 0, 1});
        }
    }
};

template <class T>
concept Network = requires(graph_builder& b) {
    T::build(b);
};

} // namespace tessera

#include "tessera/base/end_header.inl"
