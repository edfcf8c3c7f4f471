// SPDX-License-Identifier: Apache-2.0
// Bodies of training_identity.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/ranks/training_identity.hpp"

namespace tessera::detail {

TESSERA_INLINE std::string extents_text(const shape& s, int first) {
    std::string text;
    for (int d = first; d < s.rank; ++d) {
        text += (d > first ? "," : "") + std::to_string(s[d]);
    }
    return text;
}

TESSERA_INLINE std::string initial_text(const initial_rule& r) {
    return std::string(to_text(r.how)) + " " + shortest_text(r.number) + (r.said ? ", said by the layer" : "");
}

TESSERA_INLINE void add_own_attributes(field_lines& to, const std::string& name, const op_attributes& a) {
    const attribute_list* const list = record_of(a).own;
    int at = 0;
    for (int f = 0; list != nullptr && f < list->count; ++f) {
        const attribute_field& field = list->fields[f];
        std::string numbers;
        for (int k = 0; k < field.count; ++k, ++at) {
            const std::int64_t n = a.own[at] ^ list->usual[at];
            numbers += (k > 0 ? "," : "") + by_type(
                                                field, n, [](std::int64_t x) { return std::to_string(x); },
                                                [](double x) { return shortest_text(x); },
                                                [](bool x) { return std::string(x ? "true" : "false"); });
        }
        to.add(name + "." + field.name, numbers);
    }
    for (; at < max_attributes; ++at) { // that its record does not list
        if (a.own[at] != 0) {
            to.add(name + ".own[" + std::to_string(at) + "]", hexadecimal_text(static_cast<std::uint64_t>(a.own[at])));
        }
    }
}

TESSERA_INLINE void add_network(field_lines& to, const graph_view& g) {
    const network_paths paths = paths_of(g);
    const auto name_of_tensor = [&](int t) {
        return g.tensors[t].producer < 0 ? std::string(g.tensors[t].name) : paths.op(g.tensors[t].producer);
    };
    const auto add_tensor = [&](const std::string& name, const tensor_node& t) {
        to.add(name + ".extents", extents_text(t.extents, 1));
        to.add(name + ".type", t.type);
    };
    to.add("network.samples", g.tensor_count > 0 ? g.tensors[0].extents[0] : 0);
    for (int t = 0; t < g.tensor_count; ++t) {
        if (g.tensors[t].producer < 0) {
            const std::string name = "network.input " + std::to_string(t) + " " + std::string(g.tensors[t].name);
            add_tensor(name, g.tensors[t]);
            to.add(name + ".any_length", g.tensors[t].any_length);
        }
    }
    for (int p = 0; p < g.parameter_count; ++p) {
        const parameter_node& n = g.parameters[p];
        const std::string name = "network." + paths.parameter(p);
        to.add(name + ".extents", extents_text(n.extents, 0));
        to.add(name + ".trained", n.trained);
        to.add(name + ".state", n.state);
        to.add(name + ".initial", initial_text(n.initial) + ", fan_in " + std::to_string(n.fan_in));
    }
    for (int op = 0; op < g.op_count; ++op) {
        const op_node& o = g.ops[op];
        const std::string name = "network." + paths.op(op);
        to.add(name + ".operator", std::string_view(record_of(o.attributes).name));
        add_own_attributes(to, name, o.attributes);
        to.add(name + ".frozen", o.attributes.frozen);
        to.add(name + ".math", o.attributes.math);
        to.add(name + ".weight", o.attributes.weight);
        std::string inputs;
        for (const int t : o.inputs) {
            inputs += (inputs.empty() ? "" : ",") + name_of_tensor(t);
        }
        to.add(name + ".inputs", inputs);
        std::string parameters;
        for (const int p : o.parameters) {
            parameters += (parameters.empty() ? "" : ",") + paths.parameter(p);
        }
        to.add(name + ".parameters", parameters);
        add_tensor(name, g.tensors[o.output]);
        to.add(name + ".random_number", g.number_of(op));
    }
}

TESSERA_INLINE void add_strategy(field_lines& to, const graph_view& g, const strategy& s) {
    const network_paths paths = paths_of(g);
    const auto pooled = [&](int from, index_t count) {
        std::string numbers;
        for (index_t i = from; from >= 0 && i < from + count && i < static_cast<index_t>(s.pool.size()); ++i) {
            numbers += (i > from ? "," : "") + std::to_string(s.pool[to_size(i)]);
        }
        return numbers;
    };
    to.add("strategy.operators", s.ops.size());
    for (std::size_t op = 0; op < s.ops.size(); ++op) {
        const configuration& c = s.ops[op];
        const bool known = op < paths.ops.size();
        const std::string name = "strategy." + (known ? paths.ops[op] : "operator " + std::to_string(op));
        configuration::each_field([&](const char* field, auto member, const field_facts& f) {
            if (!f.pooled) {
                to.add(name + "." + field, c.*member);
            }
        });
        std::string cuts;
        for (int l = 0; l < max_loops; ++l) {
            cuts += c.cuts[l] >= 0 ? "loop " + std::to_string(l) + ": " + pooled(c.cuts[l], c.degree[l] - 1) + " " : "";
        }
        to.add(name + ".cuts", cuts);
        to.add(name + ".devices", pooled(c.devices, count_shards(c)));
    }
    strategy::each_field([&](const char* field, auto member, const field_facts&) {
        using value = std::remove_cvref_t<decltype(s.*member)>;
        if constexpr (!std::is_same_v<value, decltype(s.ops)> && !std::is_same_v<value, decltype(s.pool)>) {
            to.add("strategy." + std::string(field), s.*member);
        }
    });
}

} // namespace tessera::detail

namespace tessera {

TESSERA_INLINE field_lines lines_of(const training_identity& t) {
    field_lines all;
    all.add("library", t.library);
    all.add("backend", t.backend);
    detail::add_network(all, t.network);
    if (t.how != nullptr) {
        detail::add_strategy(all, t.network, *t.how);
    }
    if (t.update != nullptr) {
        all.add("optimizer", *t.update);
    }
    if (t.options != nullptr) {
        all.add("options", *t.options);
    }
    for (const field_line& l : t.own.all()) {
        all.add("backend." + l.name, l.value);
    }
    return all;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
