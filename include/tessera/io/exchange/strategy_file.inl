// SPDX-License-Identifier: Apache-2.0
// Bodies of strategy_file.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/exchange/strategy_file.hpp"

namespace tessera::io::detail {

TESSERA_INLINE json to_json(const pipeline_schedule& s) {
    json j = json::object();
    write_fields(j, s);
    json& workers = j["workers"] = json::array();
    for (const std::vector<action>& list : s.workers) {
        std::string text;
        for (const action& x : list) {
            text += (text.empty() ? "" : " ") + std::string(1, action_letters[static_cast<std::size_t>(x.what)]) +
                    std::to_string(x.stage) + "." + std::to_string(x.micro_batch);
        }
        workers.push_back(text);
    }
    const auto list = [&](const char* name, const std::vector<char>& marks) {
        for (std::size_t m = 0; m < marks.size(); ++m) {
            json& numbers = j[name];
            numbers = numbers.is_null() ? json::array() : numbers;
            if (marks[m] != 0) {
                numbers.push_back(m);
            }
        }
    };
    list("mirrored", s.mirrored);
    list("keeps", s.keeps);
    return j;
}

TESSERA_INLINE std::string text_of(const message& m) {
    std::string text = to_text(m.method);
    text += m.server != 0 ? "@" + std::to_string(m.server) : "";
    for (const gradient_slice& x : m.slices) {
        text += " " + std::to_string(x.parameter);
        text += x.slices > 1 ? ":" + std::to_string(x.slice) + "/" + std::to_string(x.slices) : "";
    }
    return text;
}

TESSERA_INLINE json to_json(const synchronization& s) {
    json j = json::object();
    for (const message& m : s.messages) {
        j["messages"].push_back(text_of(m));
    }
    write_fields(j, s);
    return j;
}

TESSERA_INLINE json to_json(const graph_view& g, const strategy_view& s, int op, const std::string& name) {
    const configuration& c = s.ops[op];
    const description d = g.describe(op);
    json j{{"layer", name}, {"kind", to_text(g.ops[op].attributes.kind)}};
    for (int l = 0; l < d.loops.size(); ++l) {
        if (c.degree[l] == 1) {
            continue;
        }
        json& split = j["splits"][to_text(d.loops[l].name)];
        split = c.degree[l];
        if (c.cuts[l] >= 0) {
            split = {{"cuts", std::vector<index_t>(s.pool + c.cuts[l], s.pool + c.cuts[l] + c.degree[l] - 1)}};
        }
    }
    write_fields(j, c, [&c](const field_facts& f) { return f.places && c.devices < 0; });
    if (c.devices >= 0) { // then start and stride say nothing
        j.erase("start");
        j.erase("stride");
        j["devices"] = std::vector<index_t>(s.pool + c.devices, s.pool + c.devices + c.shards());
    }
    return j;
}

TESSERA_INLINE json strategy_json(const graph_view& g, const strategy& s, int devices,
                                  const std::vector<std::string>& names) {
    json j{{"tessera_strategy", strategy_file_version}, {"devices", devices}};
    write_fields(j, s);
    strategy::each_field([&](const char* name, auto member, const field_facts&) {
        using type = std::remove_cvref_t<decltype(s.*member)>;
        if constexpr (Described<type>) { // operators and what is theirs of the pool follow as layers
            if (!(s.*member == type{})) {
                j[name] = to_json(s.*member);
            }
        }
    });
    json& layers = j["layers"] = json::array();
    for (int op = 0; op < g.op_count; ++op) {
        layers.push_back(to_json(g, s.view(), op, names[to_size(op)]));
    }
    return j;
}

} // namespace tessera::io::detail

namespace tessera::io {

TESSERA_INLINE json to_json(const graph_view& g, const strategy& s, int devices) {
    require(g, s.view(), devices);
    return detail::strategy_json(g, s, devices, paths_of(g).ops);
}

TESSERA_INLINE strategy_file strategy_from(const graph_view& g, const json_document& document) {
    return detail::strategy_reader(g).read(document);
}

TESSERA_INLINE strategy_file strategy_from_text(const graph_view& g, std::string_view text, const std::string& called) {
    return strategy_from(g, json_document(text, called));
}

TESSERA_INLINE strategy_file read_strategy(const graph_view& g, const std::string& path) {
    return strategy_from_text(g, read_file(path), path);
}

TESSERA_INLINE void write_strategy(const std::string& path, const graph_view& g, const strategy& s, int devices) {
    write_file_atomically(path, to_text(to_json(g, s, devices)));
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
