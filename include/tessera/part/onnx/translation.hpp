// SPDX-License-Identifier: Apache-2.0
// What translates a foreign graph node by node: values by name, constants, attributes, and the shapes in which
// operators of the network read views.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/constant.hpp"

#include <initializer_list>
#include <map>

namespace tessera::onnx {

/// A value of the graph: a view of the network, a constant, or what stands for something that only together with
/// another node has an operator.
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

/// The samples while a graph is translated that does not say how many there are: a number that no other extent is
/// likely to be.
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
    void note(const std::string& text);

    value hold(constant c);
    /// Whether no number that a node makes is negative, as far as a few nodes before it show.
    bool is_never_negative(int n) const;
    bool is_never_negative(int n, int& most) const;
    static value data(view v);
    const constant& of(const value& v) const { return constants[to_size(v.which)]; }
};

/// A node that is being translated: its inputs and attributes, as operators ask for them. All throw cannot_say.
class call {
public:
    translation& t;
    const node& n;
    std::vector<value> in;
    std::string name; ///< what its operators are called

    call(translation& all, const node& which);

    bool has(std::size_t k) const { return k < n.inputs.size() && !n.inputs[k].empty(); }
    bool is_constant(std::size_t k) const { return has(k) && in[k].is == value::kind::constant; }
    bool is_data(std::size_t k) const { return has(k) && in[k].is == value::kind::data; }
    const view& data(std::size_t k) const;
    /// A copy of a constant input's place: the list of constants may grow.
    const constant& fixed(std::size_t k) const;
    /// Integers of a constant list.
    std::vector<index_t> list(std::size_t k) const;
    /// The one number that all elements of a constant are.
    bool is_number(std::size_t k, double& to) const;
    double number_at(std::size_t k, double usual) const;

    const attribute* find(const char* wanted) const;
    std::int64_t integer(const char* wanted, std::int64_t usual) const;
    double number(const char* wanted, double usual) const;
    std::string text(const char* wanted, const std::string& usual) const;
    std::vector<index_t> integers(const char* wanted, std::vector<index_t> usual = {}) const;
    /// A list that is an attribute, or, since some opset, an input.
    std::vector<index_t> attribute_or_input(const char* wanted, std::size_t k) const;
    void require(bool holds, const char* otherwise) const;
    int axis(index_t given, int rank) const;

    void give(value v, std::size_t k = 0);
    void give(view v, std::size_t k = 0) { give(translation::data(std::move(v)), k); }
    /// The only node that reads an output, null where several or none do, or the graph gives it out.
    const node* only_reader(const std::string& output) const;
    /// Operators with parameters are called like the initializer that is their weight, without what it is of them; else
    /// like the node.
    std::string layer_name(const constant& weight) const;
};

} // namespace tessera::onnx

#ifndef TESSERA_COMPILED
#include "tessera/part/onnx/translation.inl"
#endif

#include "tessera/base/end_header.inl"
