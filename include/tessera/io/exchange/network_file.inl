// SPDX-License-Identifier: Apache-2.0
// Bodies of network_file.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/exchange/network_file.hpp"

namespace tessera::io::detail {

TESSERA_INLINE json own_attributes(const op_attributes& a, const std::string& path) {
    json j = json::object();
    const auto as_json = [](auto x) { return json(x); };
    const attribute_defaults* usual = defaults_of(record_of(a));
    const std::string_view follows = usual != nullptr && usual->follows != nullptr ? usual->follows : "";
    const auto skip = [&](const attribute_field& field, int at) {
        bool same = usual == nullptr || (!usual->must_be_said(field.name) && field.name != follows);
        for (int k = at; k < at + field.count; ++k) {
            same = same && a.own[k] == (usual != nullptr ? usual->usual.own[k] : 0);
        }
        return same;
    };
    const bool listed = each_attribute(a, skip, [&](const attribute_field& field, const std::int64_t* numbers) {
        json all = json::array();
        for (int k = 0; k < field.count; ++k) {
            all.push_back(by_type(field, numbers[k], as_json, as_json, as_json));
        }
        j[field.name] = field.count == 1 ? all[0] : all;
    });
    if (!listed) {
        throw error("tessera: the operator " + path + " cannot be written: its record (" +
                    std::string(record_of(a).name) +
                    ") does not list its attributes; give them `fields` (docs/network_file.md)");
    }
    return j;
}

TESSERA_INLINE network_writer::network_writer(const graph_view& g)
    : g_(g), labels_(tessera::detail::labels_of(g)), paths_(paths_of(g)), first_users_(first_users_of(g)) {
    for (const std::string& path : paths_.ops) {
        taken_.insert(path);
    }
}

TESSERA_INLINE json network_writer::write(const std::string& name) {
    json j{{"tessera_network", network_file_version}, {"name", name}, {"batch", g_.tensors[0].extents[0]}};
    const precision math = g_.op_count > 0 ? g_.ops[0].attributes.math : precision::fp32;
    if (math != precision::fp32) {
        j["precision"] = to_text(math);
    }
    json& nodes = j["nodes"] = json::array();
    for (int t = 0; t < g_.tensor_count; ++t) {
        const int op = g_.tensors[t].producer;
        nodes.push_back(op < 0 ? input(t) : node(op));
    }
    return j;
}

TESSERA_INLINE json network_writer::input(int t) {
    const tensor_node& x = g_.tensors[t];
    const std::string called(x.name);
    std::string name = called;
    for (int more = 1; !taken_.insert(name).second; ++more) {
        name = called + "." + std::to_string(more);
    }
    names_.push_back(name);
    json j{{"input", name}};
    if (name != called) {
        j["called"] = called;
    }
    json& sample = j["sample"] = json::array();
    for (int d = 1; d < x.extents.rank; ++d) {
        sample.push_back(x.extents[d]);
    }
    j["type"] = x.type == element::i32 ? "i32" : "f32";
    if (x.any_length) {
        j["any_length"] = true;
    }
    return j;
}

TESSERA_INLINE json network_writer::node(int op) {
    const op_node& o = g_.ops[op];
    const std::string& path = paths_.op(op);
    names_.push_back(path);
    json j{{"name", path}};
    const std::string& layer = labels_.texts[to_size(labels_.of[to_size(op)])];
    if (layer != path) {
        j["layer"] = layer;
    }
    j["kind"] = record_of(o.attributes).name;
    json& reads = j["reads"] = json::array();
    const int count = record_of(o.attributes).uses != nullptr ? 1 : o.inputs.size();
    for (int k = 0; k < count; ++k) {
        reads.push_back(names_[to_size(o.inputs[k])]);
    }
    if (const json own = own_attributes(o.attributes, path); !own.empty()) {
        j["attributes"] = own;
    }
    if (o.attributes.frozen) {
        j["frozen"] = true;
    }
    if (o.attributes.weight != 1.0) {
        j["loss_weight"] = o.attributes.weight;
    }
    for (int slot = 0; slot < 2; ++slot) {
        const initial_rule& rule = o.attributes.initial[slot];
        if (rule.said) {
            j["initial"][tessera::detail::slot_name(slot)] = {{"how", to_text(rule.how)}, {"number", rule.number}};
        }
    }
    const int source = source_of_parameters(g_, first_users_, op);
    if (source < -1) {
        throw error("tessera: the operator " + path + " cannot be written: it takes parameters of several layers");
    }
    if (source >= 0) {
        j["parameters_of"] = paths_.op(source);
    }
    return j;
}

} // namespace tessera::io::detail

namespace tessera::io {

TESSERA_INLINE json to_json(const graph_view& g, const std::string& name) {
    if (g.op_count == 0 || g.tensor_count == 0) {
        throw error("tessera: a network without operators cannot be written");
    }
    return detail::network_writer(g).write(name);
}

TESSERA_INLINE network_file network_from_text(std::string_view text, index_t samples, const std::string& called,
                                              const std::vector<const op_record*>& more) {
    const json_document document(text, called);
    return detail::network_reader(document, more).read(samples);
}

TESSERA_INLINE network_file read_network(const std::string& path, index_t samples,
                                         const std::vector<const op_record*>& more) {
    return network_from_text(read_file(path), samples, path, more);
}

TESSERA_INLINE void write_network(const std::string& path, const graph_view& g, const std::string& name) {
    write_file_atomically(path, to_text(to_json(g, name)));
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
