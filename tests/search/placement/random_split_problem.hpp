// SPDX-License-Identifier: Apache-2.0
// Small random split problems, and the best contiguous split of one by trying all.
#pragma once

#include "tessera/search/placement/split_problem.hpp"

#include <limits>
#include <random>

namespace placement_test {

namespace sp = tessera::search::placement;

struct problem_kind {
    int most_nodes = 8;
    int most_devices = 3;
    bool backward = false;
    bool cpus = false;
};

/// Forward nodes first, some in groups; with `backward` each may have a backward node of its group, and edges run back
/// between those of neighbours.
inline sp::split_problem random_problem(std::mt19937& random, const problem_kind& kind) {
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    sp::split_problem p;
    p.name = "random";
    p.accelerators = 1 + below(kind.most_devices);
    p.cpus = kind.cpus ? below(2) : 0;
    const int forward = 2 + below((kind.backward ? kind.most_nodes / 2 : kind.most_nodes) - 1);
    double total = 0;
    const auto add = [&](bool backward) {
        sp::split_node n;
        n.id = 100 - 7 * static_cast<int>(p.nodes.size());
        n.backward = backward;
        n.accelerator_time = below(5) == 0 ? 0 : 1 + below(20) * 0.25;
        n.cpu_time = n.accelerator_time * (1 + below(4));
        n.size = below(4) == 0 ? 0 : 1 + below(8);
        n.output_cost = below(4) * 0.5;
        n.accelerated = p.cpus == 0 || below(8) != 0;
        total += n.size;
        p.nodes.push_back(n);
    };
    const int groups = 1 + below(forward);
    for (int v = 0; v < forward; ++v) {
        add(false);
        p.nodes.back().group = below(3) == 0 ? below(groups) : kind.backward ? 100 + v : -1;
    }
    std::vector<std::pair<int, int>> between;
    for (int v = 0; v < forward; ++v) {
        for (int w = v + 1; w < forward; ++w) {
            if (below(3) == 0) {
                between.push_back({v, w});
            }
        }
    }
    std::vector<int> mate(tessera::to_size(forward), -1);
    for (int v = 0; kind.backward && v < forward; ++v) {
        if (below(4) != 0) {
            mate[tessera::to_size(v)] = static_cast<int>(p.nodes.size());
            add(true);
            p.nodes.back().group = p.nodes[tessera::to_size(v)].group;
        }
    }
    for (const auto& [v, w] : between) {
        p.edges.push_back({v, w});
        const int a = mate[tessera::to_size(w)];
        const int b = mate[tessera::to_size(v)];
        if (a >= 0 && b >= 0) {
            p.edges.push_back({a, b});
        }
    }
    for (int v = 0; v < forward; ++v) {
        const int w = mate[tessera::to_size(v)];
        if (w >= 0 && below(2) == 0) {
            p.edges.push_back({v, w});
        }
    }
    p.memory = below(2) == 0 ? 1e6 : 1 + total * (40 + below(80)) / (100 * p.accelerators);
    return p;
}

/// Of the forward nodes' edges between devices none may lead back: some order of the devices has all of them forwards.
inline bool is_pipeline(const sp::split_problem& p, const sp::split& s) {
    std::vector<std::vector<char>> reach(tessera::to_size(p.devices()),
                                         std::vector<char>(tessera::to_size(p.devices()), 0));
    for (const sp::split_edge& e : p.edges) {
        if (!p.nodes[tessera::to_size(e.from)].backward && !p.nodes[tessera::to_size(e.to)].backward &&
            s[tessera::to_size(e.from)] != s[tessera::to_size(e.to)]) {
            reach[tessera::to_size(s[tessera::to_size(e.from)])][tessera::to_size(s[tessera::to_size(e.to)])] = 1;
        }
    }
    for (std::size_t k = 0; k < reach.size(); ++k) {
        for (std::size_t i = 0; i < reach.size(); ++i) {
            for (std::size_t j = 0; j < reach.size(); ++j) {
                reach[i][j] = reach[i][j] != 0 || (reach[i][k] != 0 && reach[k][j] != 0) ? 1 : 0;
            }
        }
    }
    for (std::size_t i = 0; i < reach.size(); ++i) {
        if (reach[i][i] != 0) {
            return false;
        }
    }
    return true;
}

/// The load of a device, written down once more from the paper's words.
inline double load_of(const sp::split_problem& p, const sp::split& s, int device) {
    double load = 0;
    for (std::size_t v = 0; v < p.nodes.size(); ++v) {
        const bool inside = s[v] == device;
        load += !inside ? 0 : p.is_cpu(device) ? p.nodes[v].cpu_time : p.nodes[v].accelerator_time;
        bool crosses = false;
        for (const sp::split_edge& e : p.edges) {
            const bool reads = s[tessera::to_size(e.to)] == device;
            crosses = crosses || (tessera::to_size(e.from) == v && inside != reads);
        }
        load += crosses && !p.is_cpu(device) ? p.nodes[v].output_cost : 0;
    }
    return load;
}

struct best_split {
    double load = std::numeric_limits<double>::infinity();
    sp::split devices;
};

/// Tries every device for every node. `any_order`: also splits that are no pipeline.
inline best_split try_all(const sp::split_problem& p, bool any_order = false) {
    best_split best;
    sp::split s(p.nodes.size(), 0);
    for (;;) {
        bool fits = any_order || is_pipeline(p, s);
        for (std::size_t v = 0; fits && v < s.size(); ++v) {
            fits = p.is_cpu(s[v]) || p.nodes[v].accelerated;
            for (std::size_t w = 0; fits && w < v; ++w) {
                fits = p.nodes[v].group < 0 || p.nodes[v].group != p.nodes[w].group || s[v] == s[w];
            }
        }
        double most = 0;
        for (int d = 0; fits && d < p.devices(); ++d) {
            double size = 0;
            for (std::size_t v = 0; v < s.size(); ++v) {
                size += s[v] == d ? p.nodes[v].size : 0;
            }
            fits = p.is_cpu(d) || size <= p.memory;
            most = std::max(most, load_of(p, s, d));
        }
        if (fits && most < best.load) {
            best = {most, s};
        }
        std::size_t v = 0;
        while (v < s.size() && ++s[v] == p.devices()) {
            s[v++] = 0;
        }
        if (v == s.size()) {
            return best;
        }
    }
}

} // namespace placement_test
