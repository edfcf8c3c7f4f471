// SPDX-License-Identifier: Apache-2.0
// A network as a value: tensors, parameters and operators, each an index into an array.
#pragma once

#include "tessera/base/rules.hpp"
#include "tessera/base/type_name.hpp"
#include "tessera/op/analysis.hpp"
#include "tessera/op/infer.hpp"

#include <string_view>
#include <vector>

namespace tessera {

struct tensor_node {
    shape extents;
    element type = element::f32;
    int producer = -1; ///< operator, or -1 for an input of the network
    std::string_view name;
};

/// A parameter is an entity of its own: several operators may use it, and its gradient is the sum over them.
struct parameter_node {
    shape extents;
    std::string_view layer; ///< name of the layer that introduced it
    int slot = 0;           ///< 0 weight or gamma, 1 bias or beta, 2 running statistics
    op_kind kind = op_kind::linear;
    index_t fan_in = 1; ///< inputs that one output sums over: the scale of the initial values
    bool trained = true;
    int instance = 0; ///< of the layer, where it is repeated
};

struct op_node {
    op_attributes attributes;
    std::string_view name;
    type_key key = 0; ///< type of the layer
    int instance = 0; ///< the how-manieth operator of this type
    fixed_vector<int, max_inputs> inputs;
    fixed_vector<int, 3> parameters;
    int output = -1;
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

    /// The description of an operator.
    constexpr description describe(int op) const {
        shape inputs[max_inputs];
        for (int k = 0; k < ops[op].inputs.size(); ++k) {
            inputs[k] = tensors[ops[op].inputs[k]].extents;
        }
        description d = tessera::describe(ops[op].attributes, inputs, ops[op].inputs.size());
        if (ops[op].attributes.math == precision::bf16) {
            for (operand& o : d.operands) {
                o.type = o.kind == operand_kind::input    ? tensors[ops[op].inputs[o.slot]].type
                         : o.kind == operand_kind::output ? tensors[ops[op].output].type
                                                          : o.type;
            }
        }
        return d;
    }
    constexpr bool is_loss(int op) const { return ops[op].attributes.kind == op_kind::cross_entropy; }

    /// How many integers, from 0, an operator takes as its input `slot`: classes of a loss, rows of an embedding; 0 for numbers.
    constexpr index_t integers_of(int op, int slot) const {
        if (ops[op].attributes.kind == op_kind::embedding) {
            return ops[op].attributes.vocabulary;
        }
        const shape& x = tensors[ops[op].inputs[0]].extents;
        return is_loss(op) && slot == 1 ? x[op::channel_dimension(x.rank)] : 0;
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

/// Where a builder writes a network: arrays with room for what is to come.
struct graph_builder {
    static constexpr int max_taps = 1024; ///< inputs and nodes of a dag, saved tensors

    tensor_node* tensors = nullptr;
    parameter_node* parameters = nullptr;
    op_node* ops = nullptr;
    int tensor_count = 0;
    int parameter_count = 0;
    int op_count = 0;
    index_t batch = 1;
    int repeating = 0; ///< depth of repeat<>: a layer may come again, with parameters of its own
    problem refused;
    std::string_view refused_at; ///< name of the layer at which a rule was broken

    struct tap {
        type_key key = 0;
        int tensor = -1;
    };
    fixed_vector<tap, max_taps> taps;

    constexpr int fail(problem p) {
        if (!refused) {
            refused = p;
            refused.op = op_count;
        }
        return -1;
    }

    constexpr int add_input(const shape& extents, element type, std::string_view name) {
        tensors[tensor_count] = tensor_node{extents, type, -1, name};
        return tensor_count++;
    }

    /// Names a tensor; a name is given once. Returns the tensor, or -1 after a broken rule.
    constexpr int add_tap(type_key key, std::string_view name, int tensor, rule given_twice) {
        if (refused || tensor < 0) {
            return -1;
        }
        refused_at = name;
        if (find_tap(key) >= 0) {
            return fail({given_twice, 0, -1, 2, 1});
        }
        return taps.push_back({key, tensor}) ? tensor : fail({rule::too_many_names, 0, -1, max_taps + 1, max_taps});
    }

    constexpr int find_tap(type_key key) const {
        for (const tap& t : taps) {
            if (t.key == key) {
                return t.tensor;
            }
        }
        return -1;
    }

    /// Appends an operator and its parameters; returns its output tensor, or -1 after a broken rule. `tied_to` is the layer whose
    /// parameters it takes, as far as they go, or 0.
    constexpr int add_op(const op_attributes& a, std::string_view name, type_key key, bool shared, const int* inputs,
                         int count, type_key tied_to = 0) {
        if (refused) {
            return -1;
        }
        refused_at = name;
        op_node node{a, name, key, 0, {}, {}, -1};
        shape extents[max_inputs];
        for (int k = 0; k < count && k < max_inputs; ++k) {
            const int producer = tensors[inputs[k]].producer;
            if (producer >= 0 && ops[producer].attributes.kind == op_kind::cross_entropy) {
                return fail({rule::loss_has_consumer, 0, -1, 1, 0});
            }
            node.inputs.push_back(inputs[k]);
            extents[k] = tensors[inputs[k]].extents;
        }
        const inferred out = infer(a, extents, count);
        if (out.refused) {
            return fail(out.refused);
        }
        const description d = tessera::describe(a, extents, count);
        for (const operand& o : d.operands) {
            const bool integers = o.kind == operand_kind::input && tensors[node.inputs[o.slot]].type == element::i32;
            if (o.kind == operand_kind::input && integers != (o.type == element::i32)) {
                const rule broken = integers                       ? rule::integers_into_arithmetic
                                    : a.kind == op_kind::embedding ? rule::numbers_are_looked_up
                                                                   : rule::labels_do_not_fit;
                return fail({broken, 0, -1, integers, !integers});
            }
        }
        int earlier = previous(key, node.instance);
        if (tied_to != 0) {
            int unused = 0;
            earlier = previous(tied_to, unused);
            if (earlier < 0) {
                return fail({rule::tied_to_nothing, 0, -1, 0, 1});
            }
        }
        if (!add_parameters(d, node, shared || tied_to != 0, earlier)) {
            return -1;
        }
        node.output = tensor_count;
        tensors[tensor_count++] = tensor_node{out.output, element::f32, op_count, name};
        ops[op_count++] = node;
        return node.output;
    }

private:
    /// The last operator of the same type, and in `instance` how many there are.
    constexpr int previous(type_key key, int& instance) const {
        int last = -1;
        for (int i = 0; i < op_count; ++i) {
            if (ops[i].key == key) {
                last = i;
                ++instance;
            }
        }
        return last;
    }

    constexpr bool add_parameters(const description& d, op_node& node, bool shared, int earlier) {
        for (const operand& o : d.operands) {
            if (o.kind != operand_kind::parameter && o.kind != operand_kind::state) {
                continue;
            }
            if (earlier >= 0 && shared && o.slot < ops[earlier].parameters.size()) {
                const int p = ops[earlier].parameters[o.slot];
                if (!(parameters[p].extents == o.extents)) {
                    fail({rule::shared_parameters_differ, 0, -1, o.extents.volume(), parameters[p].extents.volume()});
                    return false;
                }
                node.parameters.push_back(p);
                continue;
            }
            if (earlier >= 0 && !shared && repeating == 0) {
                fail({rule::layer_used_twice, 0, -1, node.instance + 1, 1});
                return false;
            }
            // A bias is scaled like the weight before it.
            const bool matrix = o.extents.rank > 1 && o.kind == operand_kind::parameter;
            const shape& scale = matrix                ? o.extents
                                 : parameter_count > 0 ? parameters[parameter_count - 1].extents
                                                       : o.extents;
            // The first extent are outputs; of experts' weights [E,O,I] and of a transposed convolution's [I,O,..] the second.
            const index_t outputs = scale.rank == 3 ? scale[0] * scale[1] : scale.rank > 0 ? scale[0] : 1;
            parameters[parameter_count] = parameter_node{o.extents,
                                                         node.name,
                                                         o.slot,
                                                         node.attributes.kind,
                                                         scale.rank > 0 ? scale.volume() / outputs : 1,
                                                         o.kind == operand_kind::parameter && !node.attributes.frozen,
                                                         node.instance};
            node.parameters.push_back(parameter_count++);
        }
        return true;
    }
};

/// A network that owns its arrays, for networks that are described at run time.
struct graph {
    std::vector<tensor_node> tensors;
    std::vector<parameter_node> parameters;
    std::vector<op_node> ops;

    graph_view view() const {
        return {tensors.data(),
                parameters.data(),
                ops.data(),
                static_cast<int>(tensors.size()),
                static_cast<int>(parameters.size()),
                static_cast<int>(ops.size())};
    }
};

} // namespace tessera
