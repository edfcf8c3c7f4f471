// SPDX-License-Identifier: Apache-2.0
// Bodies of split_problem.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/split_problem.hpp"

namespace tessera::search::placement::detail {

TESSERA_INLINE void refuse_split(const split_problem& p, const std::string& what) {
    throw error("tessera: split problem '" + p.name + "': " + what);
}

TESSERA_INLINE std::string text_of_node(const split_node& n) {
    return "node " + std::to_string(n.id) + (n.name.empty() ? "" : " '" + n.name + "'");
}

TESSERA_INLINE void check_number(const split_problem& p, const split_node& n, const char* what, double value) {
    if (!(value >= 0 && value <= most_split_number)) {
        refuse_split(p,
                     text_of_node(n) + " has " + what + " of " + fixed_text(value) + "; give a number from 0 to 1e18");
    }
}

} // namespace tessera::search::placement::detail

namespace tessera::search::placement {

TESSERA_INLINE void require(const split_problem& p) {
    if (p.nodes.empty()) {
        detail::refuse_split(p, "has no nodes; give at least one");
    }
    if (p.accelerators < 0 || p.cpus < 0 || p.devices() < 1 || p.accelerators > most_split_devices ||
        p.cpus > most_split_devices) {
        detail::refuse_split(p, "is for " + std::to_string(p.accelerators) + " accelerators and " +
                                    std::to_string(p.cpus) + " CPUs; give 0 to " + std::to_string(most_split_devices) +
                                    " of each, at least one device");
    }
    if (!(p.memory >= 0 && p.memory <= most_split_number)) {
        detail::refuse_split(p, "gives accelerators " + fixed_text(p.memory) +
                                    " bytes of memory; give a number from 0 to 1e18");
    }
    std::vector<std::pair<std::int64_t, int>> ids;
    for (const split_node& n : p.nodes) {
        ids.push_back({n.id, static_cast<int>(ids.size())});
        detail::check_number(p, n, "a time on a CPU", n.cpu_time);
        detail::check_number(p, n, "a time on an accelerator", n.accelerator_time);
        detail::check_number(p, n, "a size", n.size);
        detail::check_number(p, n, "a cost of its output", n.output_cost);
        if (n.group < -1) {
            detail::refuse_split(p, detail::text_of_node(n) + " is of group " + std::to_string(n.group) +
                                        "; give at least 0, or -1 where it is alone");
        }
    }
    std::sort(ids.begin(), ids.end());
    for (std::size_t i = 1; i < ids.size(); ++i) {
        if (ids[i].first == ids[i - 1].first) {
            detail::refuse_split(p, "two nodes have the id " + std::to_string(ids[i].first) + "; give each its own");
        }
    }
    const int count = static_cast<int>(p.nodes.size());
    for (const split_edge& e : p.edges) {
        if (e.from < 0 || e.from >= count || e.to < 0 || e.to >= count) {
            detail::refuse_split(p, "an edge joins place " + std::to_string(e.from) + " to place " +
                                        std::to_string(e.to) + ", but there are " + std::to_string(count) + " nodes");
        }
        const split_node& from = p.nodes[to_size(e.from)];
        const split_node& to = p.nodes[to_size(e.to)];
        if (e.from == e.to) {
            detail::refuse_split(p, "an edge joins " + detail::text_of_node(from) + " to itself; leave it out");
        }
        if (from.backward && !to.backward) {
            detail::refuse_split(p, "an edge leads from backward " + detail::text_of_node(from) + " to forward " +
                                        detail::text_of_node(to) + "; backward nodes come last");
        }
    }
    if (const std::string cycle = detail::cycle_of(p, [](const split_edge&) { return true; }); !cycle.empty()) {
        detail::refuse_split(p, "has a cycle of nodes: " + cycle + "; take one of its edges out");
    }
}

TESSERA_INLINE std::vector<double> loads(const split_problem& p, const split& s) {
    std::vector<double> load(to_size(p.devices()), 0);
    std::vector<std::vector<int>> out(p.nodes.size());
    for (const split_edge& e : p.edges) {
        if (s[to_size(e.from)] != s[to_size(e.to)]) {
            out[to_size(e.from)].push_back(s[to_size(e.to)]);
        }
    }
    for (std::size_t v = 0; v < p.nodes.size(); ++v) {
        const split_node& n = p.nodes[v];
        load[to_size(s[v])] += p.is_cpu(s[v]) ? n.cpu_time : n.accelerator_time;
        std::sort(out[v].begin(), out[v].end());
        out[v].erase(std::unique(out[v].begin(), out[v].end()), out[v].end());
        if (!out[v].empty()) {
            load[to_size(s[v])] += p.is_cpu(s[v]) ? 0 : n.output_cost;
        }
        for (const int d : out[v]) {
            load[to_size(d)] += p.is_cpu(d) ? 0 : n.output_cost;
        }
    }
    return load;
}

TESSERA_INLINE double max_load(const split_problem& p, const split& s) {
    const std::vector<double> all = loads(p, s);
    return *std::max_element(all.begin(), all.end());
}

TESSERA_INLINE std::string trouble_of(const split_problem& p, const split& s) {
    if (s.size() != p.nodes.size()) {
        return "the split is of " + std::to_string(s.size()) + " nodes, the problem of " +
               std::to_string(p.nodes.size());
    }
    std::vector<double> size(to_size(p.devices()), 0);
    std::vector<std::pair<int, int>> groups;
    for (std::size_t v = 0; v < s.size(); ++v) {
        if (s[v] < 0 || s[v] >= p.devices()) {
            return detail::text_of_node(p.nodes[v]) + " is on device " + std::to_string(s[v]) +
                   ", which does not exist";
        }
        if (!p.is_cpu(s[v]) && !p.nodes[v].accelerated) {
            return detail::text_of_node(p.nodes[v]) + " is on an accelerator, which cannot run it";
        }
        size[to_size(s[v])] += p.nodes[v].size;
        if (p.nodes[v].group >= 0) {
            groups.push_back({p.nodes[v].group, static_cast<int>(v)});
        }
    }
    std::sort(groups.begin(), groups.end());
    for (std::size_t i = 1; i < groups.size(); ++i) {
        if (groups[i].first == groups[i - 1].first &&
            s[to_size(groups[i].second)] != s[to_size(groups[i - 1].second)]) {
            return detail::text_of_node(p.nodes[to_size(groups[i - 1].second)]) + " and " +
                   detail::text_of_node(p.nodes[to_size(groups[i].second)]) + " of one group are apart";
        }
    }
    for (int d = 0; d < p.accelerators; ++d) {
        if (size[to_size(d)] > p.memory) {
            return "accelerator " + std::to_string(d) + " has " + fixed_text(p.memory) + " bytes and needs " +
                   fixed_text(size[to_size(d)]);
        }
    }
    return "";
}

} // namespace tessera::search::placement

#include "tessera/base/end_header.inl"
