// SPDX-License-Identifier: Apache-2.0
// Nodes that OptCNN's eliminations leave, and widths of variable elimination.
#pragma once

#include "benchmarks/search/flexflow_settings.hpp"
#include "tessera/search/optcnn/eliminate.hpp"
#include "tessera/search/optcnn/variable_elimination.hpp"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <utility>

namespace flexflow {

/// The shape of a network, or that of its recurrent cells, as a problem of two configurations each.
struct shape_graph {
    int nodes = 0;
    std::vector<std::pair<int, int>> edges;
    int node() { return nodes++; }
    int node(std::initializer_list<int> from) {
        for (const int f : from) {
            edges.push_back({f, nodes});
        }
        return nodes++;
    }
    search::additive_problem problem() const {
        search::additive_problem p;
        for (int v = 0; v < nodes; ++v) {
            p.add_node({0, 0});
        }
        for (const auto& [a, b] : edges) {
            p.add_edge(a, b, {0, 0, 0, 0});
        }
        return p;
    }
};

/// Embedding, cells and, where wanted, softmax of every step; returns the top cells.
inline std::vector<int> unroll(shape_graph& g, int layers, int steps, bool softmax, const std::vector<int>& before = {},
                               std::vector<int>* last = nullptr) {
    std::vector<int> row;
    for (int t = 0; t < steps; ++t) {
        row.push_back(g.node());
    }
    for (int l = 0; l < layers; ++l) {
        int state = before.empty() ? -1 : before[ts::to_size(l)];
        for (int& x : row) {
            state = state < 0 ? g.node({x}) : g.node({x, state});
            x = state;
        }
        if (last != nullptr) {
            last->push_back(state);
        }
    }
    for (const int x : row) {
        if (softmax) {
            (void)g.node({x});
        }
    }
    return row;
}

inline shape_graph attention_network(int steps) {
    shape_graph g;
    std::vector<int> last;
    const std::vector<int> memory = unroll(g, 2, steps, false, {}, &last);
    const std::vector<int> top = unroll(g, 2, steps, false, last);
    for (const int x : top) {
        const int attention = g.node({x});
        for (const int m : memory) {
            g.edges.push_back({m, attention});
        }
        g.node({attention});
    }
    return g;
}

/// A network's operators; batch norms, activations and reshapings belong to what makes their input if `merged`.
inline shape_graph of_network(const ts::graph& network_of, bool merged) {
    const ts::graph_view g = network_of.view();
    shape_graph s;
    std::vector<int> node(ts::to_size(g.op_count));
    for (int op = 0; op < g.op_count; ++op) {
        const ts::op_node& x = g.ops[op];
        const int producer = g.tensors[x.inputs[0]].producer;
        const ts::op_kind k = x.attributes.kind;
        const bool follows = k == ts::op_kind::batch_norm || k == ts::op_kind::relu || k == ts::op_kind::flatten ||
                             k == ts::op_kind::dropout;
        if (merged && follows && producer >= 0) {
            node[ts::to_size(op)] = node[ts::to_size(producer)];
            continue;
        }
        node[ts::to_size(op)] = s.node();
        for (const int t : x.inputs) {
            if (g.tensors[t].producer >= 0) {
                s.edges.push_back({node[ts::to_size(g.tensors[t].producer)], node[ts::to_size(op)]});
            }
        }
    }
    return s;
}

/// Most neighbours of a node when it is eliminated, if the one with fewest always comes next.
inline int least_degree_width(const shape_graph& g) {
    std::vector<std::set<int>> near(ts::to_size(g.nodes));
    for (const auto& [a, b] : g.edges) {
        near[ts::to_size(a)].insert(b);
        near[ts::to_size(b)].insert(a);
    }
    std::set<int> left;
    for (int v = 0; v < g.nodes; ++v) {
        left.insert(v);
    }
    std::size_t width = 0;
    while (!left.empty()) {
        const int v = *std::min_element(left.begin(), left.end(), [&](int a, int b) {
            return near[ts::to_size(a)].size() < near[ts::to_size(b)].size();
        });
        const std::set<int> mine = near[ts::to_size(v)];
        width = std::max(width, mine.size());
        for (const int a : mine) {
            std::set<int>& others = near[ts::to_size(a)];
            others.insert(mine.begin(), mine.end());
            others.erase(a);
            others.erase(v);
        }
        left.erase(v);
    }
    return static_cast<int>(width);
}

inline void width_row(const char* name, const shape_graph& g, const char* expected) {
    const search::additive_problem p = g.problem();
    search::elimination_options two_rules;
    two_rules.leaf_rule = false;
    two_rules.budget = 1; // the order is what is wanted
    const auto eliminated = search::eliminate(p, two_rules);
    std::printf("| %s | %d | %zu | %d | %d | %d | %s |\n", name, g.nodes, g.edges.size(),
                eliminated.statistics.remaining, search::min_fill_order(p).width, least_degree_width(g), expected);
}

inline void widths() {
    std::printf(
        "\n## What eliminations leave\n\nK: nodes that are left after OptCNN's two rules; width: of variable "
        "elimination in min-fill "
        "order, beside that of always eliminating the node of fewest neighbours. Expected, as worked out from the "
        "papers' descriptions by an independent script: operators, edges, K, width.\n\n"
        "| network | nodes | edges | K | width | in order of least degree | expected |\n"
        "|---|---|---|---|---|---|---|\n");
    width_row("AlexNet", of_network(network(0, 1, {}), true), "11, 10, 2, 1");
    width_row("ResNet-101", of_network(network(1, 1, {}), true), "142, 174, 2, 2");
    width_row("ResNet-101, every operator", of_network(network(1, 1, {}), false), "-, -, 2, 2");
    width_row("Inception-v3", of_network(network(2, 1, {}), true), "122, 156, 2, 2");
    width_row("Inception-v3, every operator", of_network(network(2, 1, {}), false), "-, -, 2, 2");
    shape_graph lm;
    unroll(lm, 2, 40, true);
    width_row("RNNLM, a node a cell", lm, "160, 198, 160, 2");
    shape_graph tc;
    unroll(tc, 4, 40, true);
    width_row("RNNTC, a node a cell", tc, "240, 356, 240, 4");
    width_row("NMT 5+5, a node a cell", attention_network(5), "40, 73, 40, 9");
    width_row("NMT 40+40, a node a cell", attention_network(40), "320, 1998, 320, 80");
    width_row("RNNLM, every operator", of_network(network(4, 1, {}), false), "-");
    width_row("RNNTC, every operator", of_network(network(3, 1, {}), false), "-");
    width_row("NMT, every operator", of_network(network(5, 1, {}), false), "-");
}

} // namespace flexflow
