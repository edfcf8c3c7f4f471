// SPDX-License-Identifier: Apache-2.0
// What Tofu's parts bring, whether total communication says how long a step is, and which step belongs to which links.
#pragma once

#include "benchmarks/papers/support.hpp"
#include "benchmarks/papers/tofu_networks.hpp"
#include "examples/networks.hpp"
#include "tessera/search/by_hand/hand_designed.hpp"
#include "tessera/search/finished_step.hpp"
#include "tessera/search/tofu/tofu.hpp"

#include <numeric>
#include <random>

namespace papers {

inline ts::lower_options momentum() {
    ts::lower_options o;
    o.update = ts::optimizer(ts::sgd{.momentum = 0.9F});
    return o;
}

/// Tofu's recursion as the library has it, or by one count alone.
inline search::tofu_result tofu(const ts::graph_view& g) {
    return search::tofu_by_both_counts(g, search::steps_for(1, 8));
}
inline search::tofu_result tofu(const ts::graph_view& g, search::tofu_count count) {
    search::tofu_options o;
    o.traffic.count = count;
    return search::tofu_search(g, search::steps_for(1, 8), o);
}

/// A network of the studies.
struct studied {
    const char* name;
    ts::graph network;
};
inline std::vector<studied> studied_networks() {
    std::vector<studied> all;
    all.push_back({"AlexNet, 256", ts::describe<networks::alexnet>(256)});
    all.push_back({"VGG-16, 64", ts::describe<networks::vgg16>(64)});
    all.push_back({"WResNet-50-4, 32", tofu_network::wide_resnet(50, 4, 32)});
    all.push_back({"WResNet-152-10, 8", tofu_network::wide_resnet(152, 10, 8)});
    all.push_back({"RNN-6-4K, 128", tofu_network::rnn(6, 4096, 128)});
    all.push_back({"RNN-10-8K, 128", tofu_network::rnn(10, 8192, 128)});
    return all;
}

/// Step by step, group by group in order, each group takes what is cheapest beside those that have chosen; the most
/// bytes first, as Spartan's heuristic does (recalled), or in the network's order.
inline search::tofu_result greedy(const ts::graph_view& g, bool largest_first) {
    const search::tofu_steps steps = search::steps_for(1, 8);
    search::detail::tofu_searcher searcher(g, steps, {});
    const auto& groups = searcher.groups();
    std::vector<index_t> size(groups.ops.size(), 0);
    for (std::size_t k = 0; k < size.size(); ++k) {
        for (const int op : groups.ops[k]) {
            for (const ts::operand& o : g.describe(op).operands) {
                size[k] += o.extents.volume() * ts::bytes_of(o.type);
            }
        }
    }
    std::vector<std::size_t> order(size.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (largest_first) {
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size[a] > size[b]; });
    }
    std::vector<std::vector<int>> chosen(size.size());
    for (int i = 0; i < steps.count(); ++i) {
        std::vector<std::vector<std::vector<int>>> offered;
        for (std::size_t k = 0; k < size.size(); ++k) {
            offered.push_back(searcher.extended(static_cast<int>(k), {chosen[k]}));
        }
        const search::additive_problem p = searcher.problem_of(offered);
        std::vector<int> choice(size.size(), -1);
        for (const std::size_t k : order) {
            std::vector<search::cost_t> cost = p.unary(static_cast<int>(k));
            for (int e = 0; e < p.edges(); ++e) {
                const auto from = ts::to_size(p.edge(e).from);
                const auto to = ts::to_size(p.edge(e).to);
                const std::size_t columns = offered[to].size();
                for (std::size_t c = 0; c < cost.size(); ++c) {
                    if (from == k && choice[to] >= 0) {
                        cost[c] += p.table(e)[c * columns + ts::to_size(choice[to])];
                    } else if (to == k && choice[from] >= 0) {
                        cost[c] += p.table(e)[ts::to_size(choice[from]) * columns + c];
                    }
                }
            }
            choice[k] = static_cast<int>(std::min_element(cost.begin(), cost.end()) - cost.begin());
        }
        for (std::size_t k = 0; k < size.size(); ++k) {
            chosen[k] = offered[k][ts::to_size(choice[k])];
        }
    }
    return searcher.result_of(chosen);
}

inline void parts_row(const studied& x, const char* name, const search::tofu_result& r, double seconds) {
    const ts::cluster on(tofu_machine());
    const search::finished_step s = search::simulate_finished(x.network.view(), on, r.best, {}, momentum());
    std::printf("| %s | %s | %.2f | %.1f | %.1f | %d | %d | %s | %.3f |\n", x.name, name,
                static_cast<double>(s.moved_bytes) * 1e-9, static_cast<double>(s.makespan) * 1e-6,
                static_cast<double>(*std::max_element(s.peak_bytes.begin(), s.peak_bytes.end())) * 1e-9, r.groups,
                r.width, r.exact ? "yes" : "no", seconds);
    std::fflush(stdout);
}

inline void parts() {
    std::printf(
        "\n## What each part of the search brings\n\n"
        "On the 8 K80. Exact: every step is the best after those before it (all at once: the best of all). Seconds on "
        "one core.\n\n"
        "| network, batch | search | GB moved in a step | step, ms | GB of the fullest | groups | width | exact | s |\n"
        "|---|---|---|---|---|---|---|---|---|\n");
    for (const studied& x : studied_networks()) {
        const ts::graph_view g = x.network.view();
        const search::tofu_steps steps = search::steps_for(1, 8);
        const auto with = [&](const char* name, const search::tofu_steps& in, const search::tofu_options& o,
                              bool flat = false) {
            const auto begin = benchmarks::clock_type::now();
            const search::tofu_result r = flat ? search::flat_tofu(g, in, o) : search::tofu_search(g, in, o);
            parts_row(x, name, r, benchmarks::milliseconds_since(begin) * 1e-3);
        };
        const auto begin_both = benchmarks::clock_type::now();
        const search::tofu_result both = tofu(g);
        parts_row(x, "Tofu", both, benchmarks::milliseconds_since(begin_both) * 1e-3);
        search::tofu_options o;
        with("by what devices receive alone", steps, o);
        o.traffic.count = search::tofu_count::groups;
        with("by the paper's count alone", steps, o);
        o = {};
        o.traffic.slices_parameters = false;
        with("parameters kept, not in slices", steps, o);
        o = {};
        o.splits.with_reduction = false;
        with("without output reduction (as ICML18 and OptCNN)", steps, o);
        o = {};
        o.coarse = {false, false};
        with("without coarsening", steps, o);
        o = {};
        with("one level: eight parts along one loop (equal chop)", search::tofu_steps{{8}, {1}}, o);
        if (g.op_count < 60) {
            with("all steps at once", steps, o, true);
        }
        auto begin = benchmarks::clock_type::now();
        const search::tofu_result heuristic = greedy(g, true);
        parts_row(x, "greedy, largest first (Spartan, recalled)", heuristic,
                  benchmarks::milliseconds_since(begin) * 1e-3);
        begin = benchmarks::clock_type::now();
        const search::tofu_result in_order = greedy(g, false);
        parts_row(x, "greedy, in order", in_order, benchmarks::milliseconds_since(begin) * 1e-3);
        search::tofu_result rows = heuristic;
        rows.groups = g.op_count;
        rows.best = search::data_parallel(g, 8);
        rows.best.sync = ts::schedule::zero(ts::schedule::gradients_of(g), 3);
        parts_row(x, "all by rows: samples, parameters in slices", rows, 0);
    }
}

/// Spearman's: the correlation of places; equal values share theirs.
inline double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
    const auto places = [](const std::vector<double>& x) {
        std::vector<std::size_t> order(x.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t k) { return x[i] < x[k]; });
        std::vector<double> place(x.size());
        for (std::size_t i = 0; i < order.size();) {
            std::size_t end = i;
            while (end < order.size() && x[order[end]] == x[order[i]]) {
                ++end;
            }
            for (std::size_t k = i; k < end; ++k) {
                place[order[k]] = static_cast<double>(i + end - 1) / 2;
            }
            i = end;
        }
        return place;
    };
    const std::vector<double> x = places(a);
    const std::vector<double> y = places(b);
    const double mean = static_cast<double>(x.size() - 1) / 2;
    double xy = 0;
    double xx = 0;
    double yy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        xy += (x[i] - mean) * (y[i] - mean);
        xx += (x[i] - mean) * (x[i] - mean);
        yy += (y[i] - mean) * (y[i] - mean);
    }
    return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

inline void ranks() {
    std::printf(
        "\n## Does total communication say how long a step is?\n\n"
        "Spearman's rank correlation over random strategies on the 8 K80: every group splits a random loop in each "
        "step (random), or the strategy "
        "found with one choice in ten redrawn (near Tofu's).\n\n"
        "| network, batch | strategies | how many | bytes with step | bytes with memory |\n|---|---|---|---|---|\n");
    const ts::cluster on(tofu_machine());
    for (const studied& x : studied_networks()) {
        const ts::graph_view g = x.network.view();
        search::detail::tofu_searcher searcher(g, search::steps_for(1, 8), {});
        searcher.recursive();
        const std::vector<std::vector<int>> found = searcher.chosen();
        const auto all = searcher.all_histories();
        for (const bool near : {false, true}) {
            std::mt19937 random{1};
            std::vector<double> bytes;
            std::vector<double> steps;
            std::vector<double> memory;
            const int wanted = g.op_count > 1000 ? 60 : 200;
            for (int i = 0; i < wanted; ++i) {
                std::vector<std::vector<int>> chosen = found;
                for (std::size_t k = 0; k < all.size(); ++k) {
                    const std::size_t drawn = random() % all[k].size();
                    chosen[k] = !near || random() % 10 == 0 ? all[k][drawn] : chosen[k];
                }
                const search::tofu_result r = searcher.result_of(chosen);
                const search::finished_step s = search::simulate_finished(g, on, r.best, {}, momentum());
                bytes.push_back(static_cast<double>(r.bytes));
                steps.push_back(static_cast<double>(s.makespan));
                memory.push_back(static_cast<double>(*std::max_element(s.peak_bytes.begin(), s.peak_bytes.end())));
            }
            std::printf("| %s | %s | %d | %.2f | %.2f |\n", x.name, near ? "near Tofu's" : "random", wanted,
                        rank_correlation(bytes, steps), rank_correlation(bytes, memory));
            std::fflush(stdout);
        }
    }
}

inline void links() {
    std::printf("\n## Links of unequal speed: which step belongs between nodes?\n\n"
                "2 nodes of 4 P100 (20 GB/s within a node, 12.5 GB/s for all four between them) and 2 nodes of 8 A100 "
                "(300 GB/s within, 25 GB/s for each "
                "GPU between). The same splits, with the devices numbered so that one of the steps is between the "
                "nodes and the others are within.\n\n"
                "| network, batch | machine | step between nodes | GB of this step | GB between nodes | step, ms "
                "|\n|---|---|---|---|---|---|\n");
    for (const studied& x : studied_networks()) {
        for (const bool a100 : {false, true}) {
            const ts::cluster on(a100 ? ts::machines::a100_nodes(2) : ts::machines::p100_nodes(2));
            search::tofu_steps steps = search::steps_for(2, on.devices() / 2);
            for (int between = 0; between < steps.count(); ++between) {
                int stride = 1; // the others keep their order within the node
                for (int i = steps.count(); i-- > 0;) {
                    steps.strides[ts::to_size(i)] = i == between ? on.devices() / 2 : stride;
                    stride *= i == between ? 1 : 2;
                }
                const search::tofu_result r = search::tofu_search(x.network.view(), steps);
                const step s = simulated(x.network.view(), r.best, on);
                std::printf("| %s | %s | %d | %.2f | %.2f | %.1f |\n", x.name, on.graph().name.c_str(), between + 1,
                            static_cast<double>(r.step_bytes[ts::to_size(between)]) * 1e-9, s.between_gb, s.ms);
                std::fflush(stdout);
            }
        }
    }
}

} // namespace papers
