// SPDX-License-Identifier: Apache-2.0
// What translates a foreign graph node by node: values by name, constants, attributes, and the shapes in which operators of the network read views.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/constant.hpp"

#include <initializer_list>
#include <map>

namespace tessera::onnx {

/// A value of the graph: a view of the network, a constant, or what stands for something that only together with another node has an operator.
struct value {
    enum class kind {
        nothing,  ///< an input that is left out, or what was not understood
        constant, ///< `which` of the translation's constants
        data,     ///< `v`
        normal,   ///< factor * Phi(`v`) + offset, where Phi is the normal distribution function
        causal,   ///< `v`, of whose last two dimensions what is above the diagonal counts as minus infinity
    };

    kind is = kind::nothing;
    int which = -1;
    view v{};
    double factor = 1, offset = 0;
};

/// The samples while a graph is translated that does not say how many there are: a number that no other extent is likely to be.
inline constexpr index_t stand_in_samples = 1021;

class translation {
public:
    static constexpr std::size_t most_notes = 101;

    network_writer w;
    std::vector<std::string> notes;
    std::vector<constant> constants;
    std::map<std::string, value> values;
    std::map<std::string, int> readers; ///< how many nodes and outputs read each value
    std::map<std::string, const node*> first_reader;
    std::map<std::string, int> layers;       ///< operators by the initializers that they have
    std::set<std::string> taken;             ///< initializers that are parameters
    std::set<std::string> apart;             ///< those of them that are read in several ways
    std::map<const node*, std::string> done; ///< nodes that are part of an operator before them, whose value is theirs
    index_t samples = stand_in_samples;
    bool one_sample = false; ///< the graph is of one sample, which its constants may say
    std::int64_t opset = 0;
    index_t most_numbers = 0; ///< that may be computed in constants
    const graph* source = nullptr;

    /// Says it once; of more than a hundred the rest is left out.
    void note(const std::string& text) {
        if (notes.size() < most_notes && std::find(notes.begin(), notes.end(), text) == notes.end()) {
            notes.push_back(notes.size() + 1 < most_notes ? text : "and more of this kind");
        }
    }

    value hold(constant c) {
        if (c.name.empty()) {
            most_numbers -= static_cast<index_t>(c.size());
            if (most_numbers < 0) {
                throw cannot_say{"the constants that are computed are too large"};
            }
        }
        constants.push_back(std::move(c));
        value v;
        v.is = value::kind::constant;
        v.which = static_cast<int>(constants.size()) - 1;
        return v;
    }
    /// Whether no number that a node makes is negative, as far as a few nodes before it show.
    bool is_never_negative(int n) const {
        int most = 256; // nodes to look at: those that are read twice are looked at twice
        return is_never_negative(n, most);
    }
    bool is_never_negative(int n, int& most) const {
        const written_node& x = w.node_at(n);
        if (x.is_input || --most < 0) {
            return false;
        }
        const auto is_one_of = [&](std::initializer_list<op_kind> kinds) {
            return std::find(kinds.begin(), kinds.end(), x.attributes.kind) != kinds.end();
        };
        if (is_one_of({op_kind::relu, op_kind::sigmoid, op_kind::hard_sigmoid, op_kind::softplus, op_kind::softmax,
                       op_kind::abs, op_kind::exp})) {
            return true;
        }
        if (is_one_of({op_kind::clamp})) {
            return x.attributes.as<op::expression_attributes>().number[0] >= 0;
        }
        bool all = is_one_of({op_kind::max_pool, op_kind::average_pool, op_kind::concat, op_kind::crop, op_kind::pad,
                              op_kind::slice, op_kind::permute, op_kind::reshape, op_kind::flatten, op_kind::dropout,
                              op_kind::add, op_kind::multiply});
        for (const int r : x.reads) {
            all = all && is_never_negative(r, most);
        }
        return all;
    }
    static value data(view v) {
        value x;
        x.is = value::kind::data;
        x.v = std::move(v);
        return x;
    }
    const constant& of(const value& v) const { return constants[static_cast<std::size_t>(v.which)]; }
};

/// A node that is being translated: its inputs and attributes, as operators ask for them. All throw cannot_say.
class call {
public:
    translation& t;
    const node& n;
    std::vector<value> in;
    std::string name; ///< what its operators are called

    call(translation& all, const node& which) : t(all), n(which), name(!n.name.empty() ? n.name : n.type) {
        for (const std::string& i : n.inputs) {
            const auto found = t.values.find(i);
            in.push_back(found == t.values.end() ? value{} : found->second);
        }
    }

    bool has(std::size_t k) const { return k < n.inputs.size() && !n.inputs[k].empty(); }
    bool is_constant(std::size_t k) const { return has(k) && in[k].is == value::kind::constant; }
    bool is_data(std::size_t k) const { return has(k) && in[k].is == value::kind::data; }
    const view& data(std::size_t k) const {
        if (!is_data(k)) {
            throw cannot_say{"its input " + std::to_string(k) +
                             (has(k) ? " is no tensor that is computed of the model's inputs" : " is missing")};
        }
        return in[k].v;
    }
    /// A copy of a constant input's place: the list of constants may grow.
    const constant& fixed(std::size_t k) const {
        if (!is_constant(k)) {
            throw cannot_say{"its input " + std::to_string(k) + (has(k) ? " is not constant" : " is missing")};
        }
        return t.of(in[k]);
    }
    /// Integers of a constant list.
    std::vector<index_t> list(std::size_t k) const {
        const constant& c = fixed(k);
        if (!c.whole || c.rank() > 1) {
            throw cannot_say{"its input " + std::to_string(k) + " is no list of integers"};
        }
        return c.integers;
    }
    /// The one number that all elements of a constant are.
    bool is_number(std::size_t k, double& to) const {
        if (!is_constant(k) || fixed(k).size() == 0) {
            return false;
        }
        const constant& c = fixed(k);
        to = c.at(0);
        for (std::size_t i = 1; i < c.size(); ++i) {
            if (c.at(i) != to) {
                return false;
            }
        }
        return true;
    }
    double number_at(std::size_t k, double usual) const {
        double x = usual;
        if (has(k) && !is_number(k, x)) {
            throw cannot_say{"its input " + std::to_string(k) + " is no constant number"};
        }
        return x;
    }

    const attribute* find(const char* wanted) const {
        for (const attribute& a : n.attributes) {
            if (a.name == wanted) {
                return &a;
            }
        }
        return nullptr;
    }
    std::int64_t integer(const char* wanted, std::int64_t usual) const {
        const attribute* a = find(wanted);
        return a == nullptr ? usual : a->integer;
    }
    double number(const char* wanted, double usual) const {
        const attribute* a = find(wanted);
        return a == nullptr ? usual : static_cast<double>(a->number);
    }
    std::string text(const char* wanted, const std::string& usual) const {
        const attribute* a = find(wanted);
        return a == nullptr ? usual : a->text;
    }
    std::vector<index_t> integers(const char* wanted, std::vector<index_t> usual = {}) const {
        const attribute* a = find(wanted);
        return a == nullptr ? usual : a->integers;
    }
    /// A list that is an attribute, or, since some opset, an input.
    std::vector<index_t> attribute_or_input(const char* wanted, std::size_t k) const {
        return has(k) ? list(k) : integers(wanted);
    }
    void require(bool holds, const char* otherwise) const {
        if (!holds) {
            throw cannot_say{otherwise};
        }
    }
    int axis(index_t given, int rank) const {
        require(given >= -rank && given < rank, "it names a dimension that its input does not have");
        return static_cast<int>(given < 0 ? given + rank : given);
    }

    void give(value v, std::size_t k = 0) {
        if (k < n.outputs.size()) {
            t.values[n.outputs[k]] = std::move(v);
        }
    }
    void give(view v, std::size_t k = 0) { give(translation::data(std::move(v)), k); }
    /// The only node that reads an output, null where several or none do, or the graph gives it out.
    const node* only_reader(const std::string& output) const {
        const auto found = t.readers.find(output);
        if (found == t.readers.end() || found->second != 1) {
            return nullptr;
        }
        const auto first = t.first_reader.find(output);
        return first == t.first_reader.end() ? nullptr : first->second;
    }
    /// Operators with parameters are called like the initializer that is their weight, without what it is of them; else like the node.
    std::string layer_name(const constant& weight) const {
        const std::size_t dot = weight.name.rfind('.');
        return dot != std::string::npos && dot > 0 && weight.name.compare(dot, std::string::npos, ".weight") == 0
                   ? weight.name.substr(0, dot)
                   : name;
    }
};

} // namespace tessera::onnx

#include "tessera/base/end_header.inl"
