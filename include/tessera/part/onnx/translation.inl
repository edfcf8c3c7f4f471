// SPDX-License-Identifier: Apache-2.0
// Bodies of translation.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/part/onnx/translation.hpp"

namespace tessera::onnx {

TESSERA_INLINE void translation::note(const std::string& text) {
    if (notes.size() < most_notes && std::find(notes.begin(), notes.end(), text) == notes.end()) {
        notes.push_back(notes.size() + 1 < most_notes ? text : "and more of this kind");
    }
}

TESSERA_INLINE value translation::hold(constant c) {
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

TESSERA_INLINE bool translation::is_never_negative(int n) const {
    int most = 256; // nodes to look at: those that are read twice are looked at twice
    return is_never_negative(n, most);
}

TESSERA_INLINE bool translation::is_never_negative(int n, int& most) const {
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

TESSERA_INLINE value translation::data(view v) {
    value x;
    x.is = value::kind::data;
    x.v = std::move(v);
    return x;
}

TESSERA_INLINE call::call(translation& all, const node& which)
    : t(all), n(which), name(!n.name.empty() ? n.name : n.type) {
    for (const std::string& i : n.inputs) {
        const auto found = t.values.find(i);
        in.push_back(found == t.values.end() ? value{} : found->second);
    }
}

TESSERA_INLINE const view& call::data(std::size_t k) const {
    if (!is_data(k)) {
        throw cannot_say{"its input " + std::to_string(k) +
                         (has(k) ? " is no tensor that is computed of the model's inputs" : " is missing")};
    }
    return in[k].v;
}

TESSERA_INLINE const constant& call::fixed(std::size_t k) const {
    if (!is_constant(k)) {
        throw cannot_say{"its input " + std::to_string(k) + (has(k) ? " is not constant" : " is missing")};
    }
    return t.of(in[k]);
}

TESSERA_INLINE std::vector<index_t> call::list(std::size_t k) const {
    const constant& c = fixed(k);
    if (!c.whole || c.rank() > 1) {
        throw cannot_say{"its input " + std::to_string(k) + " is no list of integers"};
    }
    return c.integers;
}

TESSERA_INLINE bool call::is_number(std::size_t k, double& to) const {
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

TESSERA_INLINE double call::number_at(std::size_t k, double usual) const {
    double x = usual;
    if (has(k) && !is_number(k, x)) {
        throw cannot_say{"its input " + std::to_string(k) + " is no constant number"};
    }
    return x;
}

TESSERA_INLINE const attribute* call::find(const char* wanted) const {
    for (const attribute& a : n.attributes) {
        if (a.name == wanted) {
            return &a;
        }
    }
    return nullptr;
}

TESSERA_INLINE std::int64_t call::integer(const char* wanted, std::int64_t usual) const {
    const attribute* a = find(wanted);
    return a == nullptr ? usual : a->integer;
}

TESSERA_INLINE double call::number(const char* wanted, double usual) const {
    const attribute* a = find(wanted);
    return a == nullptr ? usual : static_cast<double>(a->number);
}

TESSERA_INLINE std::string call::text(const char* wanted, const std::string& usual) const {
    const attribute* a = find(wanted);
    return a == nullptr ? usual : a->text;
}

TESSERA_INLINE std::vector<index_t> call::integers(const char* wanted, std::vector<index_t> usual) const {
    const attribute* a = find(wanted);
    return a == nullptr ? usual : a->integers;
}

TESSERA_INLINE std::vector<index_t> call::attribute_or_input(const char* wanted, std::size_t k) const {
    return has(k) ? list(k) : integers(wanted);
}

TESSERA_INLINE void call::require(bool holds, const char* otherwise) const {
    if (!holds) {
        throw cannot_say{otherwise};
    }
}

TESSERA_INLINE int call::axis(index_t given, int rank) const {
    require(given >= -rank && given < rank, "it names a dimension that its input does not have");
    return static_cast<int>(given < 0 ? given + rank : given);
}

TESSERA_INLINE void call::give(value v, std::size_t k) {
    if (k < n.outputs.size()) {
        t.values[n.outputs[k]] = std::move(v);
    }
}

TESSERA_INLINE const node* call::only_reader(const std::string& output) const {
    const auto found = t.readers.find(output);
    if (found == t.readers.end() || found->second != 1) {
        return nullptr;
    }
    const auto first = t.first_reader.find(output);
    return first == t.first_reader.end() ? nullptr : first->second;
}

TESSERA_INLINE std::string call::layer_name(const constant& weight) const {
    const std::size_t dot = weight.name.rfind('.');
    return dot != std::string::npos && dot > 0 && weight.name.compare(dot, std::string::npos, ".weight") == 0
               ? weight.name.substr(0, dot)
               : name;
}

} // namespace tessera::onnx

#include "tessera/base/end_header.inl"
