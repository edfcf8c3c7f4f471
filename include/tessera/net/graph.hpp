// SPDX-License-Identifier: Apache-2.0
// A network as a value: tensors, parameters and operators, each an index into an array.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/layer_name.hpp"
#include "tessera/base/rules.hpp"
#include "tessera/op/analysis.hpp"
#include "tessera/op/records.hpp"

#include <string_view>
#include <vector>

namespace tessera {

struct tensor_node {
    shape extents;
    element type = element::f32;
    int producer = -1; ///< operator, or -1 for an input of the network
    std::string_view name;
    bool any_length = false; ///< of an input: batches may have less of its second extent, see net/with_length.hpp
};

/// A parameter is an entity of its own: several operators may use it, and its gradient is the sum over them.
struct parameter_node {
    shape extents;
    std::string_view layer; ///< name of the layer that introduced it; see net/paths.hpp for one that is unique
    int slot = 0;           ///< 0 weight or gamma, 1 bias or beta, 2 running statistics
    initial_rule initial;
    bool state = false; ///< running state of its operator, that no gradient reaches
    index_t fan_in = 1; ///< inputs that an output sums over: what one of the first extent has elements (of [E,O,I]: I)
    bool trained = true;
    int instance = 0; ///< of the layer, where it is repeated
};

struct op_node {
    op_attributes attributes;
    std::string_view name; ///< of its layer; see net/paths.hpp for one that is unique
    type_key key = 0;      ///< type of the layer
    int instance = 0;      ///< the how-manieth operator of this type
    fixed_vector<int, max_inputs> inputs;
    fixed_vector<int, 3> parameters;
    int output = -1;
    std::string_view full_name; ///< of its type, with all scopes; empty where layers of this name are numbered together
    int number = -1; ///< in the network that it comes from, where this one is that network rewritten; see number_of()
};

/// A network as arrays that somebody else owns.
struct graph_view {
    const tensor_node* tensors = nullptr;
    const parameter_node* parameters = nullptr;
    const op_node* ops = nullptr;
    int tensor_count = 0;
    int parameter_count = 0;
    int op_count = 0;

    constexpr const tensor_node& output_of(int op) const { return tensors[ops[op].output]; }
    /// The number by which an operator draws random numbers: its own, or that of the network that was rewritten.
    constexpr int number_of(int op) const { return ops[op].number < 0 ? op : ops[op].number; }

    /// The shapes of an operator's inputs, as many as it has.
    struct input_shapes {
        shape of[max_inputs];
    };
    constexpr input_shapes shapes_of_inputs(int op) const {
        input_shapes inputs;
        for (int k = 0; k < ops[op].inputs.size(); ++k) {
            inputs.of[k] = tensors[ops[op].inputs[k]].extents;
        }
        return inputs;
    }

    /// The description of an operator.
    constexpr description describe(int op) const {
        const input_shapes inputs = shapes_of_inputs(op);
        description d = tessera::describe(ops[op].attributes, inputs.of, ops[op].inputs.size());
        if (halves_activations(ops[op].attributes.math)) {
            for (operand& o : d.operands) {
                o.type = o.kind == operand_kind::input    ? tensors[ops[op].inputs[o.slot]].type
                         : o.kind == operand_kind::output ? tensors[ops[op].output].type
                                                          : o.type;
            }
        }
        return d;
    }
    /// What its indices do not say of an operator.
    constexpr op_facts facts(int op) const {
        const input_shapes inputs = shapes_of_inputs(op);
        return facts_of(ops[op].attributes, inputs.of, ops[op].inputs.size(), tensors[ops[op].output].extents);
    }
    constexpr bool is_loss(int op) const { return record_of(ops[op].attributes).facts.loss; }

    /// How many integers, from 0, an operator takes as its input `slot`; 0 for numbers.
    constexpr index_t integers_of(int op, int slot) const {
        return index_bound_of(ops[op].attributes, shapes_of_inputs(op).of, slot);
    }
    /// How many an input of integers can hold: the least of its users' counts; 0 where nothing reads it.
    constexpr index_t integers_in(int tensor) const {
        index_t least = 0;
        for (int op = 0; op < op_count; ++op) {
            for (int k = 0; k < ops[op].inputs.size(); ++k) {
                const index_t own = ops[op].inputs[k] == tensor ? integers_of(op, k) : 0;
                least = own > 0 && (least == 0 || own < least) ? own : least;
            }
        }
        return least;
    }
};

namespace detail {

/// The words about extents for which is_too_large() holds.
constexpr problem too_large(const shape& s) {
    index_t most = s.rank > 0 ? s[0] : 0;
    for (int d = 1; d < s.rank; ++d) {
        most = s[d] > most ? s[d] : most;
    }
    return {rule::extent_too_large, 0, -1, most, INT32_MAX};
}

} // namespace detail

/// A network that owns its arrays, for networks that are described at run time.
struct graph {
    std::vector<tensor_node> tensors;
    std::vector<parameter_node> parameters;
    std::vector<op_node> ops;

    graph_view view() const;
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/net/graph.inl"
#endif

#include "tessera/base/end_header.inl"
