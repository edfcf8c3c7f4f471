// SPDX-License-Identifier: Apache-2.0
// Names what a strategy does: how much of the arithmetic and of the weights is under which kind of split.
#pragma once

#include "tessera/search/by_hand/hand_designed.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace benchmarks {

namespace ts = tessera;

/// For instance "samples 16 x channels 4, on all devices".
inline std::string pattern_of(const ts::strategy& s, const ts::description& d, int op, int devices) {
    const ts::configuration& c = s.ops[ts::to_size(op)];
    int degree[5]{};
    std::fill(std::begin(degree), std::end(degree), 1);
    for (int l = 0; l < d.loops.size(); ++l) {
        degree[static_cast<int>(c.degree[l] > 1 ? ts::role(d, l) : ts::loop_role::sample)] *= c.degree[l];
    }
    std::string text;
    const std::pair<ts::loop_role, const char*> names[] = {{ts::loop_role::sample, "samples"},
                                                           {ts::loop_role::attribute, "space or time"},
                                                           {ts::loop_role::parameter, "channels"},
                                                           {ts::loop_role::reduction, "reduction"},
                                                           {ts::loop_role::coupled, "statistics"}};
    for (const auto& [role, name] : names) {
        if (degree[static_cast<int>(role)] > 1) {
            text +=
                (text.empty() ? "" : " x ") + std::string(name) + " " + std::to_string(degree[static_cast<int>(role)]);
        }
    }
    std::vector<int> used;
    for (int i = 0; i < c.shards(); ++i) {
        used.push_back(ts::shard_at(c, s.pool.data(), d, i).device);
    }
    std::sort(used.begin(), used.end());
    const auto distinct = static_cast<int>(std::unique(used.begin(), used.end()) - used.begin());
    const std::string where =
        distinct == devices ? ", on all devices" : ", on " + std::to_string(distinct) + " of them";
    return (text.empty() ? "whole" : text) + where;
}

/// The five patterns with most arithmetic, with their shares of arithmetic and of weights, and what of that is placed
/// on fewer devices than there are.
inline void print_patterns(const ts::graph_view& g, const ts::strategy& s, int devices) {
    struct row {
        std::string name;
        double flops = 0;
        double weights = 0;
    };
    std::vector<row> rows;
    std::vector<char> counted(ts::to_size(g.parameter_count), 0);
    double flops = 0;
    double weights = 0;
    for (int op = 0; op < g.op_count; ++op) {
        const ts::description d = g.describe(op);
        const std::string name = pattern_of(s, d, op, devices);
        auto place = std::find_if(rows.begin(), rows.end(), [&](const row& r) { return r.name == name; });
        if (place == rows.end()) {
            rows.push_back({name, 0, 0});
            place = rows.end() - 1;
        }
        const auto work = static_cast<double>(ts::flops_of(d));
        place->flops += work;
        flops += work;
        for (const int p : g.ops[op].parameters) {
            if (counted[ts::to_size(p)] == 0) {
                counted[ts::to_size(p)] = 1;
                const auto volume = static_cast<double>(g.parameters[p].extents.volume());
                place->weights += volume;
                weights += volume;
            }
        }
    }
    std::sort(rows.begin(), rows.end(),
              [](const row& a, const row& b) { return a.flops + a.weights * 1e-3 > b.flops + b.weights * 1e-3; });
    std::printf("\n| pattern | arithmetic | weights |\n|---|---|---|\n");
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const double share = 100 * rows[i].flops / flops;
        const double of_weights = weights > 0 ? 100 * rows[i].weights / weights : 0;
        if (i < 5 || of_weights > 5) {
            std::printf("| %s | %.1f %% | %.1f %% |\n", rows[i].name.c_str(), share, of_weights);
        }
    }
}

} // namespace benchmarks
