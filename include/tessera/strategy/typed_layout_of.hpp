// SPDX-License-Identifier: Apache-2.0
// The layouts that a strategy gives to what a layer reads and makes, as types.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/layout/typed_layout.hpp"
#include "tessera/strategy/operand_layout.hpp"
#include "tessera/strategy/typed_strategy.hpp"

namespace tessera {

namespace detail {

template <class L>
struct named_layer {
    using layer_type = L;
    static constexpr type_key key = key_of<L>;
    static constexpr int which = -1;
};
template <class L, int Instance>
struct named_layer<instance<L, Instance>> {
    using layer_type = L;
    static constexpr type_key key = key_of<L>;
    static constexpr int which = Instance;
};

/// Where a layer's operand is found in a network.
struct operand_place {
    int op = 0;
    int operand = 0;
    problem refused;
};

template <class Layer>
constexpr operand_place find_operand_of(const graph_view& g, operand_kind kind, int slot) {
    using named = named_layer<Layer>;
    operand_place at;
    int instances = 0;
    bool there = false;
    for (int op = 0; op < g.op_count; ++op) {
        if (g.ops[op].key == named::key) {
            ++instances;
            if (named::which < 0 || g.ops[op].instance == named::which) {
                there = true;
                at.op = op;
            }
        }
    }
    if (instances == 0) {
        at.refused = {rule::unknown_layer, -1, -1, 0, 1};
    } else if (!there) {
        at.refused = {rule::no_such_instance, -1, -1, named::which, instances - 1};
    } else if (named::which < 0 && instances > 1) {
        at.refused = {rule::layer_has_instances, -1, -1, instances, 1};
    } else {
        at.operand = g.describe(at.op).find_operand(kind, slot);
        if (at.operand < 0) {
            at.refused = {rule::no_such_operand, -1, -1, slot, 0};
        }
    }
    return at;
}

/// Where an operand is found, or the compile error that it is not. Without the strategy, which a message would print at
/// every step.
template <class Net, index_t Batch, class Layer, operand_kind Kind, int Slot>
struct named_operand {
    static constexpr operand_place place = find_operand_of<Layer>(describe<Net, Batch>(), Kind, Slot);
    static constexpr bool test() {
        if constexpr (place.refused.broken == rule::none) {
            return true;
        } else {
            return tessera::refuse<place.refused.broken, tessera::layer<typename named_layer<Layer>::layer_type>,
                                   found<place.refused.found>, needed<place.refused.needed>>();
        }
    }
    static constexpr bool ok = test();
};

/// A Source of layout_of_value: an operand of a layer under a strategy.
template <class Net, class Strategy, class Layer, operand_kind Kind, int Slot, operand_tensor What>
struct layer_layout {
    using named = named_operand<Net, Strategy::batch, Layer, Kind, Slot>;
    static TESSERA_VECTOR_CONSTEXPR tensor_layout make() {
        constexpr graph_view g = describe<Net, Strategy::batch>();
        constexpr strategy_view s = configurations_of<Strategy>();
        constexpr int op = named::place.op;
        tensor_layout l = layout_of_operand(g.describe(op), named::place.operand, s.ops[op], s.pool, What);
        if constexpr (Kind == operand_kind::input) { // what a network computes in is said of its tensors
            l.type = g.tensors[g.ops[op].inputs[Slot]].type;
        } else if constexpr (Kind == operand_kind::output) {
            l.type = g.tensors[g.ops[op].output].type;
        }
        return l;
    }
    static constexpr auto type_of() {
        if constexpr (named::ok) {
            return identity<typename layout_of_value<layer_layout>::type>{};
        } else {
            return identity<layout<extents<>, dims<>>>{};
        }
    }
    using type = typename decltype(type_of())::type;
};

} // namespace detail

// Of a whole batch; where it is cut into micro-batches, each of them is split as the whole is. Layer is a layer of the
// network, or instance<Layer, 2> where it has several of a name.

/// The layout of what a layer makes: one summand for each shard of its reduction.
template <class Net, class Strategy, class Layer>
using layout_of =
    typename detail::layer_layout<Net, Strategy, Layer, operand_kind::output, 0, operand_tensor::value>::type;

/// The layout in which the layer's shards need an input: halos included, and a copy for each shard that reads the same.
template <class Net, class Strategy, class Layer, int Slot = 0>
using input_layout_of =
    typename detail::layer_layout<Net, Strategy, Layer, operand_kind::input, Slot, operand_tensor::value>::type;

/// The layout of a parameter (0: weights, 1: bias).
template <class Net, class Strategy, class Layer, int Slot = 0>
using parameter_layout_of =
    typename detail::layer_layout<Net, Strategy, Layer, operand_kind::parameter, Slot, operand_tensor::value>::type;

/// The layout in which the layer's shards need the gradient of what it makes.
template <class Net, class Strategy, class Layer>
using gradient_layout_of =
    typename detail::layer_layout<Net, Strategy, Layer, operand_kind::output, 0, operand_tensor::gradient>::type;

/// The layout of the gradient that the layer makes of an input: a summand for each shard that read the same.
template <class Net, class Strategy, class Layer, int Slot = 0>
using input_gradient_layout_of =
    typename detail::layer_layout<Net, Strategy, Layer, operand_kind::input, Slot, operand_tensor::gradient>::type;

/// The layout of the gradient that the layer makes of a parameter.
template <class Net, class Strategy, class Layer, int Slot = 0>
using parameter_gradient_layout_of =
    typename detail::layer_layout<Net, Strategy, Layer, operand_kind::parameter, Slot, operand_tensor::gradient>::type;

} // namespace tessera

#include "tessera/base/end_header.inl"
