// SPDX-License-Identifier: Apache-2.0
// Bodies of split_problem_file.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/exchange/split_problem_file.hpp"

#include "tessera/base/box.hpp"

namespace tessera::io::detail {

TESSERA_INLINE json_object loose_object(const json_value& of, const std::vector<std::string>& known) {
    for (const auto& [name, value] : of.members()) {
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            if (const std::string meant = did_you_mean(name, known); !meant.empty()) {
                value.refuse("means nothing here" + meant);
            }
        }
    }
    return json_object(of);
}

TESSERA_INLINE double split_number(const json_value& x) {
    const double value = x.number();
    if (!(value >= 0 && value <= placement::most_split_number)) {
        x.refuse("is " + fixed_text(value) + ", but must be a number from 0 to 1e18");
    }
    return value;
}

TESSERA_INLINE void node_numbers::add(const json_value& id) {
    const std::int64_t value = id.integer(INT64_MIN, INT64_MAX);
    if (!numbers_.insert({value, static_cast<int>(numbers_.size())}).second) {
        id.refuse("is " + std::to_string(value) + ", which another node has already; give each its own");
    }
}

TESSERA_INLINE int node_numbers::of(const json_value& id) const {
    const std::int64_t value = id.integer(INT64_MIN, INT64_MAX);
    const auto found = numbers_.find(value);
    if (found == numbers_.end()) {
        id.refuse("is " + std::to_string(value) + ", but no node has that id");
    }
    return found->second;
}

TESSERA_INLINE placement::split_node split_node_from(const json_value& x, std::map<std::int64_t, int>& groups) {
    json_object m = loose_object(x, {"id", "name", "supportedOnFpga", "cpuLatency", "fpgaLatency", "isBackwardNode",
                                     "colorClass", "layerId", "size"});
    placement::split_node n;
    n.id = m.get("id").integer(INT64_MIN, INT64_MAX);
    if (const json_value* name = m.find("name")) {
        n.name = name->text();
    }
    n.accelerated = split_flag(m.get("supportedOnFpga"));
    n.cpu_time = split_number(m.get("cpuLatency"));
    n.accelerator_time = split_number(m.get("fpgaLatency"));
    n.backward = split_flag(m.get("isBackwardNode"));
    if (const json_value* size = m.find("size")) {
        n.size = split_number(*size);
    }
    if (const json_value* color = m.find("colorClass")) {
        const auto next = static_cast<int>(groups.size());
        n.group = groups.insert({color->integer(INT64_MIN, INT64_MAX), next}).first->second;
    }
    return n;
}

} // namespace tessera::io::detail

namespace tessera::io {

TESSERA_INLINE placement::split_problem split_problem_from(const json_document& document) {
    json_object top =
        detail::loose_object(document.root(), {"maxSizePerFPGA", "maxFPGAs", "maxCPUs", "nodes", "edges"});
    placement::split_problem p;
    p.name = document.called();
    p.memory = detail::split_number(top.get("maxSizePerFPGA"));
    p.accelerators = top.get("maxFPGAs").small(0, placement::most_split_devices);
    p.cpus = top.get("maxCPUs").small(0, placement::most_split_devices);
    detail::node_numbers numbers;
    std::map<std::int64_t, int> groups;
    for (const json_value& x : top.get("nodes").items()) {
        p.nodes.push_back(detail::split_node_from(x, groups));
        numbers.add(json_object(x).get("id"));
    }
    std::vector<char> known(p.nodes.size(), 0);
    std::map<std::pair<int, int>, std::size_t> seen;
    for (const json_value& x : top.get("edges").items()) {
        json_object m = detail::loose_object(x, {"sourceId", "destId", "cost", "size"});
        placement::split_edge e{numbers.of(m.get("sourceId")), numbers.of(m.get("destId")), -1};
        const double cost = detail::split_number(m.get("cost"));
        if (const json_value* bytes = m.find("size")) {
            e.bytes = detail::split_number(*bytes);
        }
        placement::split_node& from = p.nodes[to_size(e.from)];
        char& is_known = known[to_size(e.from)];
        if (is_known != 0 && std::abs(from.output_cost - cost) > 1e-6) {
            m.get("cost").refuse("is " + fixed_text(cost) + ", but another edge out of node " +
                                 std::to_string(from.id) + " costs " + fixed_text(from.output_cost) +
                                 "; all cost the same, for the output is moved once");
        }
        from.output_cost = is_known != 0 ? from.output_cost : cost;
        is_known = 1;
        if (seen.insert({{e.from, e.to}, p.edges.size()}).second) {
            p.edges.push_back(e);
        }
    }
    require(p);
    return p;
}

TESSERA_INLINE placement::split_problem split_problem_from_text(std::string_view text, const std::string& called) {
    return split_problem_from(json_document(text, called));
}

TESSERA_INLINE placement::split_problem read_split_problem(const std::string& path) {
    return split_problem_from_text(read_file(path), path);
}

TESSERA_INLINE json to_json(const placement::split_problem& p) {
    json nodes = json::array();
    for (const placement::split_node& n : p.nodes) {
        json x{{"name", n.name},
               {"id", n.id},
               {"supportedOnFpga", n.accelerated},
               {"cpuLatency", n.cpu_time},
               {"fpgaLatency", n.accelerator_time},
               {"isBackwardNode", n.backward},
               {"size", n.size}};
        if (n.group >= 0) {
            x["colorClass"] = n.group;
        }
        nodes.push_back(std::move(x));
    }
    json edges = json::array();
    for (const placement::split_edge& e : p.edges) {
        const placement::split_node& from = p.nodes[to_size(e.from)];
        json x{{"sourceId", from.id}, {"destId", p.nodes[to_size(e.to)].id}, {"cost", from.output_cost}};
        if (e.bytes >= 0) {
            x["size"] = e.bytes;
        }
        edges.push_back(std::move(x));
    }
    return {{"maxSizePerFPGA", p.memory},
            {"maxFPGAs", p.accelerators},
            {"maxCPUs", p.cpus},
            {"nodes", std::move(nodes)},
            {"edges", std::move(edges)}};
}

TESSERA_INLINE json to_json(const placement::split_problem& p, const placement::split& s) {
    const std::vector<double> load = placement::loads(p, s);
    json accelerators = json::array();
    json cpus = json::array();
    for (int d = 0; d < p.devices(); ++d) {
        json ids = json::array();
        for (std::size_t v = 0; v < s.size(); ++v) {
            if (s[v] == d) {
                ids.push_back(p.nodes[v].id);
            }
        }
        (p.is_cpu(d) ? cpus : accelerators).push_back({{"load", load[to_size(d)]}, {"nodes", std::move(ids)}});
    }
    return {{"maxLoad", placement::max_load(p, s)}, {"fpgas", std::move(accelerators)}, {"cpus", std::move(cpus)}};
}

TESSERA_INLINE placement::split split_from_text(const placement::split_problem& p, std::string_view text,
                                                const std::string& called) {
    const json_document document(text, called);
    json_object top = detail::loose_object(document.root(), {"maxLoad", "fpgas", "cpus"});
    std::map<std::int64_t, std::size_t> numbers;
    for (std::size_t v = 0; v < p.nodes.size(); ++v) {
        numbers[p.nodes[v].id] = v;
    }
    placement::split s(p.nodes.size(), -1);
    for (const bool cpu : {false, true}) {
        int device = cpu ? p.accelerators : 0;
        for (const json_value& x : top.get(cpu ? "cpus" : "fpgas").items()) {
            json_object load = detail::loose_object(x, {"load", "nodes"});
            for (const json_value& id : load.get("nodes").items()) {
                const auto found = numbers.find(id.integer(INT64_MIN, INT64_MAX));
                if (found == numbers.end()) {
                    id.refuse("is " + std::to_string(id.integer(INT64_MIN, INT64_MAX)) + ", but no node has that id");
                }
                if (device >= (cpu ? p.devices() : p.accelerators)) {
                    id.refuse("lies on one device more than there are; the problem has " +
                              std::to_string(p.accelerators) + " accelerators and " + std::to_string(p.cpus) + " CPUs");
                }
                if (s[found->second] >= 0) {
                    id.refuse("is " + std::to_string(found->first) + ", which has a device already");
                }
                s[found->second] = device;
            }
            ++device;
        }
    }
    std::map<int, int> of_group;
    for (std::size_t v = 0; v < s.size(); ++v) {
        if (s[v] >= 0 && p.nodes[v].group >= 0) {
            of_group.insert({p.nodes[v].group, s[v]});
        }
    }
    for (std::size_t v = 0; v < s.size(); ++v) {
        const auto group = of_group.find(p.nodes[v].group);
        if (s[v] < 0 && group == of_group.end()) {
            throw error("tessera: " + called + ": node " + std::to_string(p.nodes[v].id) +
                        " is on no device, nor is its group; give it one");
        }
        s[v] = s[v] < 0 ? group->second : s[v];
    }
    return s;
}

TESSERA_INLINE placement::split read_split(const placement::split_problem& p, const std::string& path) {
    return split_from_text(p, read_file(path), path);
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
