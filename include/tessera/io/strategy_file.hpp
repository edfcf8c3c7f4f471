// SPDX-License-Identifier: Apache-2.0
// Strategies as JSON that people read and write: one line for every layer, by its name; versioned, and read strictly.
#pragma once

#include "tessera/io/file.hpp"
#include "tessera/io/json_text.hpp"
#include "tessera/io/strategy_reader.hpp"

namespace tessera::io {

namespace detail {

inline json to_json(const pipeline_schedule& s) {
    json j{{"stages", s.stages}};
    json& workers = j["workers"] = json::array();
    for (const std::vector<step>& list : s.workers) {
        std::string text;
        for (const step& x : list) {
            text += (text.empty() ? "" : " ") + std::string(1, step_letters[static_cast<std::size_t>(x.what)]) +
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

/// A message as text: how it goes, the number of its server if that is not 0, then parameters with their slices: server@1 3:0/4 5.
inline std::string text_of(const message& m) {
    std::string text = to_text(m.how);
    text += m.server != 0 ? "@" + std::to_string(m.server) : "";
    for (const gradient_slice& x : m.pieces) {
        text += " " + std::to_string(x.parameter);
        text += x.slices > 1 ? ":" + std::to_string(x.slice) + "/" + std::to_string(x.slices) : "";
    }
    return text;
}

inline json to_json(const synchronization& s) {
    json j = json::object();
    for (const message& m : s.messages) {
        j["messages"].push_back(text_of(m));
    }
    if (s.sum_at != sync_time::ready) {
        j["sum_at"] = to_text(s.sum_at);
    }
    if (s.update_at != sync_time::ready) {
        j["update_at"] = to_text(s.update_at);
    }
    if (s.urgent_first) {
        j["urgent_first"] = true;
    }
    if (s.shards_parameters) {
        j["shards_parameters"] = true;
    }
    if (s.average_every != 0) {
        j["average_every"] = s.average_every;
    }
    return j;
}

inline json to_json(const graph_view& g, const strategy_view& s, int op, const std::string& name) {
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
    const auto number = [&j](const char* key, int value, int usual) {
        if (value != usual) {
            j[key] = value;
        }
    };
    const auto mark = [&j](const char* key, bool value) {
        if (value) {
            j[key] = true;
        }
    };
    mark("uneven", c.uneven);
    mark("reduces", c.reduces);
    number("partial", c.partial, 1);
    number("replicate", c.replicate, 1);
    number("stage", c.stage, 0);
    mark("recompute", c.recompute);
    if (c.devices >= 0) {
        j["devices"] = std::vector<index_t>(s.pool + c.devices, s.pool + c.devices + c.shards());
    } else {
        j["start"] = c.start;
        j["stride"] = c.stride;
    }
    return j;
}

} // namespace detail

/// A strategy as a value whose text is a strategy file. Throws tessera::error unless it keeps the rules for the network and so many devices.
inline json to_json(const graph_view& g, const strategy& s, int devices) {
    require(g, s.view(), devices);
    json j{{"tessera_strategy", strategy_file_version},
           {"devices", devices},
           {"micro_batches", s.micro_batches},
           {"period", s.period},
           {"statistics", tessera::to_text(s.statistics)}};
    if (s.parameters_on >= 0) {
        j["parameters_on"] = s.parameters_on;
    }
    if (s.overlap) {
        j["overlap"] = true;
    }
    if (s.schedule.stages > 0) {
        j["schedule"] = detail::to_json(s.schedule);
    }
    if (!s.sync.is_usual()) {
        j["synchronization"] = detail::to_json(s.sync);
    }
    json& layers = j["layers"] = json::array();
    const std::vector<std::string> names = paths_of(g).ops;
    for (int op = 0; op < g.op_count; ++op) {
        layers.push_back(detail::to_json(g, s.view(), op, names[static_cast<std::size_t>(op)]));
    }
    return j;
}

/// The strategy that a document describes. Throws tessera::error, naming line, place and layer, for members that are missing, unknown, of the
/// wrong type or out of range, for another version, for a strategy of another network, for a schedule that does not hold together, and
/// for whatever require() refuses.
inline strategy_file strategy_from(const graph_view& g, const json_document& document) {
    return detail::strategy_reader(g).read(document);
}

inline strategy_file strategy_from_text(const graph_view& g, std::string_view text,
                                        const std::string& called = "strategy file") {
    return strategy_from(g, json_document(text, called));
}
inline strategy_file read_strategy(const graph_view& g, const std::string& path) {
    return strategy_from_text(g, read_file(path), path);
}
inline void write_strategy(const std::string& path, const graph_view& g, const strategy& s, int devices) {
    write_file_atomically(path, to_text(to_json(g, s, devices)));
}

} // namespace tessera::io
