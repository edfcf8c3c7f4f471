// SPDX-License-Identifier: Apache-2.0
// Builds a network as a value, operator by operator, in constant expressions too.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/graph.hpp"
#include "tessera/op/records.hpp"

namespace tessera {

namespace detail {

/// Nodes of a network that is being built. They move when they become more than there is room for: a reference holds
/// until the next is added.
template <class T>
class node_list {
public:
    constexpr node_list() = default;
    node_list(const node_list&) = delete;
    node_list& operator=(const node_list&) = delete;
    constexpr ~node_list() { release(); }

    /// Takes room that somebody else owns, or makes room; for lists without nodes.
    constexpr void lend(T* items, int room) {
        items_ = items;
        room_ = room;
        is_lent_ = true;
    }
    constexpr void reserve(int room) {
        items_ = new T[to_size(room)];
        room_ = room;
    }

    /// What is not there is an empty node.
    constexpr const T& operator[](int i) const { return i >= 0 && i < count_ ? items_[i] : nothing_; }
    constexpr T* data() { return items_; }
    constexpr const T* data() const { return items_; }
    constexpr void push_back(const T& value) {
        if (count_ == room_) {
            const int room = room_ == 0 ? 32 : 2 * room_;
            T* more = new T[to_size(room)];
            for (int i = 0; i < count_; ++i) {
                more[i] = items_[i];
            }
            release();
            items_ = more;
            room_ = room;
            is_lent_ = false;
        }
        items_[count_++] = value;
    }

private:
    constexpr void release() {
        if (!is_lent_) {
            delete[] items_;
        }
    }

    T* items_ = nullptr;
    int count_ = 0;
    int room_ = 0;
    bool is_lent_ = false;
    T nothing_{};
};

} // namespace detail

/// What the parts of a network append to. It makes room for as much as they append; what does not fit together it
/// refuses, and whatever is appended after that is left out.
struct graph_builder {
    static constexpr int max_taps = 1024; ///< inputs and nodes of a dag, saved tensors

    detail::node_list<tensor_node> tensors;
    detail::node_list<parameter_node> parameters;
    detail::node_list<op_node> ops;
    int tensor_count = 0;
    int parameter_count = 0;
    int op_count = 0;
    index_t batch = 1;
    int repeating = 0; ///< depth of repeat<>: a layer may come again, with parameters of its own
    problem refused;
    std::string_view refused_at; ///< name of the layer at which a rule was broken
    std::string_view missing;    ///< what that layer reads and is not there, by its name
    bool misnumbered =
        false; ///< a part states another number of operators than it has: messages cannot name layers by it

    struct tap {
        type_key key = 0;
        int tensor = -1;
    };
    detail::node_list<tap> taps;
    int tap_count = 0;

    constexpr int fail(problem p) {
        if (!refused) {
            refused = p;
            refused.op = op_count;
        }
        return -1;
    }

    constexpr int add_input(const shape& extents, element type, std::string_view name, bool any_length = false) {
        tensors.push_back(tensor_node{extents, type, -1, name, any_length});
        return tensor_count++;
    }

    /// Names a tensor; a name is given once. Returns the tensor, or -1 after a broken rule.
    constexpr int add_tap(type_key key, std::string_view name, int tensor, rule given_twice) {
        if (refused) {
            return -1;
        }
        refused_at = name;
        if (tensor < 0 || tensor >= tensor_count) {
            return fail({rule::unknown_tensor, 0, -1, tensor, tensor_count});
        }
        if (find_tap(key) >= 0) {
            return fail({given_twice, 0, -1, 2, 1});
        }
        if (tap_count >= max_taps) {
            return fail({rule::too_many_names, 0, -1, max_taps + 1, max_taps});
        }
        taps.push_back({key, tensor});
        ++tap_count;
        return tensor;
    }

    /// Names a tensor by a name that may have been given before, for what is appended from here on; -1: nothing is
    /// called so any more. Returns what the name stood for, or -1.
    constexpr int replace_tap(type_key key, std::string_view name, int tensor) {
        tap* all = taps.data();
        for (int i = 0; i < tap_count; ++i) {
            if (all[i].key == key) {
                const int before = all[i].tensor;
                all[i].tensor = tensor;
                return before;
            }
        }
        if (tensor >= 0) {
            add_tap(key, name, tensor, rule::tap_saved_twice);
        }
        return -1;
    }

    constexpr int find_tap(type_key key) const {
        const tap* all = taps.data();
        for (int i = 0; i < tap_count; ++i) {
            if (all[i].key == key) {
                return all[i].tensor;
            }
        }
        return -1;
    }

    /// Appends an operator and its parameters; returns its output tensor, or -1 after a broken rule. `tied_to` is the
    /// layer whose parameters it takes, as far as they go, or 0.
    constexpr int add_op(const op_attributes& a, const layer_name& name, type_key key, bool shared, const int* inputs,
                         int count, type_key tied_to = 0) {
        if (refused) {
            return -1;
        }
        refused_at = name.own;
        int repeated[max_inputs];
        if (count == 1 && record_of(a).uses != nullptr) { // one tensor in all places
            count = record_of(a).uses(a);
            for (int k = 0; k < count && k < max_inputs; ++k) {
                repeated[k] = *inputs;
            }
            inputs = repeated;
        }
        for (int k = 1; k < count && record_of(a).uses != nullptr; ++k) {
            if (inputs[k] != inputs[0]) {
                return fail({rule::wrong_number_of_inputs, 0, -1, count, 1});
            }
        }
        op_node node{a, name.own, key, 0, {}, {}, -1, name.full};
        shape extents[max_inputs];
        if (!read_inputs(node, inputs, count, extents)) {
            return -1;
        }
        if (!names_apart(record_of(a))) {
            return fail({rule::operators_share_a_name, 0, -1, 2, 1});
        }
        const inferred out = infer(a, extents, count);
        if (out.refused) {
            return fail(out.refused);
        }
        if (const auto& longest = record_of(a).for_longest; longest != nullptr && has_any_length()) {
            node.attributes = longest(a, extents);
        }
        const description d = tessera::describe(node.attributes, extents, count);
        for (const operand& o : d.operands) {
            if (is_too_large(o.extents)) {
                return fail(detail::too_large(o.extents));
            }
        }
        if (is_too_large(d)) {
            return fail({rule::extent_too_large, 0, -1, d.loops[0].extent, INT32_MAX});
        }
        if (!types_fit(d, node)) {
            return -1;
        }
        int earlier = previous(key, node.instance);
        if (tied_to != 0) {
            int unused = 0;
            earlier = previous(tied_to, unused);
            if (earlier < 0) {
                return fail({rule::tied_to_nothing, 0, -1, 0, 1});
            }
        }
        if (shared && earlier >= 0 && d.has_running_state()) { // which two updates in one step would move
            return fail({rule::running_statistics_shared, 0, -1, node.instance + 1, 1});
        }
        if (!add_parameters(d, node, shared || tied_to != 0, earlier)) {
            return -1;
        }
        node.output = tensor_count;
        const bool makes_integers = d.operands[d.output()].type == element::i32;
        tensors.push_back(tensor_node{out.output, makes_integers ? element::i32 : element::f32, op_count, name.own});
        ops.push_back(node);
        ++tensor_count;
        ++op_count;
        return node.output;
    }

    /// The network that was built.
    graph built() const;

private:
    /// Notes what an operator reads, and its extents; false after a broken rule.
    constexpr bool read_inputs(op_node& node, const int* inputs, int count, shape* extents) {
        for (int k = 0; k < count && k < max_inputs; ++k) {
            if (inputs[k] < 0 || inputs[k] >= tensor_count) {
                fail({rule::unknown_tensor, 0, -1, inputs[k], tensor_count});
                return false;
            }
            const int producer = tensors[inputs[k]].producer;
            if (producer >= 0 && record_of(ops[producer].attributes).facts.loss) {
                fail({rule::loss_has_consumer, 0, -1, 1, 0});
                return false;
            }
            node.inputs.push_back(inputs[k]);
            extents[k] = tensors[inputs[k]].extents;
            if (is_too_large(extents[k])) {
                fail(detail::too_large(extents[k]));
                return false;
            }
        }
        return true;
    }

    /// Integers are read where integers are wanted, and numbers elsewhere; false after a broken rule.
    constexpr bool types_fit(const description& d, const op_node& node) {
        for (const operand& o : d.operands) {
            const bool integers = o.kind == operand_kind::input && tensors[node.inputs[o.slot]].type == element::i32;
            if (o.kind == operand_kind::input && integers != (o.type == element::i32)) {
                const rule broken = integers       ? rule::integers_into_arithmetic
                                    : d.facts.loss ? rule::labels_do_not_fit
                                                   : rule::numbers_are_looked_up;
                fail({broken, 0, -1, integers, !integers});
                return false;
            }
        }
        return true;
    }

    /// Whether batches may be shorter than the network is described.
    constexpr bool has_any_length() const {
        bool any = false;
        for (int t = 0; t < tensor_count; ++t) {
            any = any || tensors[t].any_length;
        }
        return any;
    }

    /// Whether no other operator of the network has this one's name.
    constexpr bool names_apart(const op_record& own) const {
        const op_node* all = ops.data();
        for (int i = op_count - 1; i >= 0; --i) {
            const op_record& other = record_of(all[i].attributes);
            if (same_operator(other, own)) {
                return &other == &own;
            }
        }
        return true;
    }

    /// The last operator of the same type, and in `instance` how many there are.
    constexpr int previous(type_key key, int& instance) const {
        int last = -1;
        const op_node* all = ops.data();
        for (int i = 0; i < op_count; ++i) {
            if (all[i].key == key) {
                last = i;
                ++instance;
            }
        }
        return last;
    }

    static constexpr initial_rule initial_of(const op_attributes& a, int slot) {
        return slot < 2 && a.initial[slot].said ? a.initial[slot] : initial_rule{record_of(a).initial[slot]};
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
            // PyTorch's fan-in: all but the first extent, which are outputs (inputs in a transposed convolution's
            // [I,O,..], rows in a table); of experts' weights [E,O,I] all but the first two.
            const index_t outputs = scale.rank == 3 ? scale[0] * scale[1] : scale.rank > 0 ? scale[0] : 1;
            const bool state = o.kind == operand_kind::state;
            parameters.push_back({o.extents, node.name, o.slot, initial_of(node.attributes, o.slot), state,
                                  scale.rank > 0 ? scale.volume() / outputs : 1,
                                  !state && o.differentiable && !node.attributes.frozen, node.instance});
            node.parameters.push_back(parameter_count++);
        }
        for (int slot = 0; slot < 2; ++slot) {
            if (node.attributes.initial[slot].said && slot >= node.parameters.size()) {
                fail({rule::initial_values_of_nothing, 0, -1, slot + 1, node.parameters.size()});
                return false;
            }
        }
        return true;
    }
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/net/graph_builder.inl"
#endif

#include "tessera/base/end_header.inl"
