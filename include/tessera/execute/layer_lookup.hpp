// SPDX-License-Identifier: Apache-2.0
// Which parameter, operator or tensor of a network that is a type a layer of it stands for.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/describe.hpp"
#include "tessera/strategy/typed_options.hpp"

namespace tessera::detail {

TESSERA_REFUSAL(no_such_layer, "the network has no such layer");

/// What weights<L>() stands for: a layer, and which of its instances.
template <class L>
struct addressed {
    using layer_type = L;
    static constexpr int which = 0;
};
template <class L, int Instance>
struct addressed<instance<L, Instance>> {
    using layer_type = L;
    static constexpr int which = Instance;
};

/// The parameter of a layer by its slot; -1 where the network has no such layer or the layer no such parameter.
template <class L>
constexpr int find_parameter(const graph_view& g, int slot) {
    for (int op = 0; op < g.op_count; ++op) {
        if (g.ops[op].key != key_of<typename addressed<L>::layer_type> || g.ops[op].instance != addressed<L>::which) {
            continue;
        }
        return slot < g.ops[op].parameters.size() ? g.ops[op].parameters[slot] : -1;
    }
    return -1;
}

template <class L>
constexpr int find_operator(const graph_view& g) {
    for (int op = 0; op < g.op_count; ++op) {
        if (g.ops[op].key == key_of<typename addressed<L>::layer_type> && g.ops[op].instance == addressed<L>::which) {
            return op;
        }
    }
    return -1;
}

template <class Net, class L>
inline constexpr int operator_of = find_operator<L>(storage_of<Net, 64>.view());

/// The tensor that predict<L>() is of: what a layer makes, or the tensor that a chain or save<> has called L; -1 where
/// there is neither.
template <class Net, class L>
constexpr int find_output() {
    if (operator_of<Net, L> >= 0) {
        return storage_of<Net, 64>.view().ops[operator_of<Net, L>].output;
    }
    graph_builder b;
    build_whole<Net>(b, 64);
    const int tensor = b.find_tap(key_of<L>);
    return tensor >= 0 && b.tensors[tensor].producer >= 0 ? tensor : -1;
}
template <class Net, class L>
inline constexpr int output_of = find_output<Net, L>();

template <class Net, class L, int Slot>
inline constexpr int parameter_of = find_parameter<L>(storage_of<Net, 64>.view(), Slot);

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
