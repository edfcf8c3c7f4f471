// SPDX-License-Identifier: Apache-2.0
// The same numbers as one device (docs/architecture.md#laws), as a test: a session under any strategy against one in
// double.
#pragma once

#include "random_strategy.hpp"

#include "tessera/backend/reference/network.hpp"
#include "tessera/execute/session.hpp"

#include <cmath>
#include <string>

namespace test_support {

/// A fixed random batch for a network.
struct batch_data {
    std::vector<std::vector<float>> numbers;
    std::vector<std::vector<std::int32_t>> labels;
    std::vector<ts::input_data> inputs;
    std::vector<int> tensors;

    batch_data(const ts::graph_view& g, std::uint64_t seed) {
        random pick{seed};
        for (int t = 0; t < g.tensor_count; ++t) {
            if (g.tensors[t].producer >= 0) {
                continue;
            }
            tensors.push_back(t);
            const auto n = ts::to_size(g.tensors[t].extents.volume());
            numbers.emplace_back();
            labels.emplace_back();
            if (g.tensors[t].type == ts::element::i32) {
                const int classes = static_cast<int>(g.integers_in(t));
                for (std::size_t i = 0; i < n; ++i) {
                    labels.back().push_back(pick(classes));
                }
            } else {
                for (std::size_t i = 0; i < n; ++i) {
                    numbers.back().push_back(static_cast<float>(pick(20001) - 10000) / 5000.0F);
                }
            }
        }
        for (std::size_t k = 0; k < tensors.size(); ++k) {
            if (labels[k].empty()) {
                inputs.emplace_back(std::span<const float>(numbers[k]));
            } else {
                inputs.emplace_back(std::span<const std::int32_t>(labels[k]));
            }
        }
    }
};

/// Hands a batch to one device.
inline void set_all(ts::reference::network& oracle, const batch_data& data) {
    for (std::size_t k = 0; k < data.tensors.size(); ++k) {
        if (data.labels[k].empty()) {
            oracle.set(data.tensors[k], std::span<const float>(data.numbers[k]));
        } else {
            oracle.set(data.tensors[k], std::span<const std::int32_t>(data.labels[k]));
        }
    }
}

/// What one device in double computes in some steps; `nudge`: from starting values that are off by that share. (Its
/// constructor is a template so that it can be compiled once; see instances.hpp.)
struct oracle {
    std::vector<double> losses;
    std::vector<std::vector<std::vector<double>>> gradients; ///< by step and parameter
    std::vector<std::vector<double>> change;                 ///< of every parameter since the start

    template <class Graph>
    oracle(const Graph& g, const batch_data& data, const ts::optimizer& update, int steps, std::uint64_t seed,
           int micro_batches = 1, double nudge = 0,
           const std::vector<std::vector<ts::reference::network::replica>>& replicas = {}) {
        ts::reference::network n(g);
        n.micro_batches = micro_batches;
        n.replicas = replicas;
        n.initialize(seed);
        for (auto& p : n.parameters) { // every other one up, every other one down
            for (double& x : p) {
                x *= 1 + (nudge = -nudge);
            }
        }
        const auto start = n.parameters;
        set_all(n, data);
        ts::run_state run;
        run.seed = seed;
        run.learning_rate = static_cast<double>(update.learning_rate);
        for (int i = 0; i < steps; ++i) {
            run.step = static_cast<std::uint64_t>(i);
            losses.push_back(n.train_step(run, update));
            gradients.push_back(n.gradients);
        }
        change = n.parameters;
        for (std::size_t p = 0; p < change.size(); ++p) {
            for (std::size_t i = 0; i < change[p].size(); ++i) {
                change[p][i] -= start[p][i];
            }
        }
    }
};

/// For every operator the samples that one device takes its statistics over by themselves, where every shard of samples
/// does; empty for all others. The running statistics follow the first shard that has samples at all, in every
/// micro-batch in which it has some. None at all, where that makes no difference.
inline std::vector<std::vector<ts::reference::network::replica>> replicas_of(const ts::graph_view& g,
                                                                             const ts::strategy& s) {
    std::vector<std::vector<ts::reference::network::replica>> all(ts::to_size(g.op_count));
    bool any = false;
    for (int op = 0; op < g.op_count && s.statistics == ts::statistics_over::replica; ++op) {
        const ts::description d = g.describe(op);
        const ts::configuration& c = s.ops[ts::to_size(op)];
        const int l = ts::statistics_loop(d);
        std::vector<int> place; // of every replica's shard along the loop
        for (int m = 0; m < s.micro_batches && l >= 0; ++m) {
            for (int i = 0; i < c.shards(); ++i) {
                ts::shard x = ts::shard_at(c, s.pool.data(), d, i);
                if (s.micro_batches > 1) {
                    ts::confine(x, c, s.pool.data(), d, ts::even_part(g.tensors[0].extents[0], s.micro_batches, m));
                }
                auto& list = all[ts::to_size(op)];
                if (!x.ranges[l].empty() && (list.empty() || list.back().samples.begin < x.ranges[l].begin)) {
                    list.push_back({x.ranges[l], false});
                    place.push_back(x.index[l]);
                }
            }
        }
        for (std::size_t k = 0; k < place.size(); ++k) {
            all[ts::to_size(op)][k].followed = place[k] == *std::min_element(place.begin(), place.end());
        }
        any = any || c.degree[l < 0 ? 0 : l] > 1;
    }
    return any ? all : std::vector<std::vector<ts::reference::network::replica>>{};
}

/// |a - b| / |b| in the Euclidean norm; where b is (nearly) nothing, |a| compared with `scale` instead.
inline double relative(const std::vector<double>& a, const std::vector<double>& b, double scale) {
    double difference = 0;
    double size = 0;
    for (std::size_t i = 0; i < b.size(); ++i) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        size += b[i] * b[i];
    }
    const double base = std::sqrt(size) > scale ? std::sqrt(size) : scale;
    return base > 0 ? std::sqrt(difference) / base : std::sqrt(difference);
}

struct comparison {
    double loss = 0; ///< largest relative differences
    double gradient = 0;
    double change = 0;
    std::vector<double> joint; ///< for every step, of all gradients as one vector
    std::string worst;
    bool copies_equal = true;
    std::vector<double> losses;
    std::vector<std::vector<float>> parameters;
};

/// Runs a session for as many steps as the oracle did and compares.
template <class Session>
comparison compare(Session& session, const ts::graph_view& g, const batch_data& data, const oracle& expected) {
    comparison c;
    std::vector<std::vector<float>> start;
    for (int p = 0; p < g.parameter_count; ++p) {
        start.push_back(session.parameter(p));
    }
    for (std::size_t step = 0; step < expected.losses.size(); ++step) {
        const double loss = session.step(data.inputs);
        c.losses.push_back(loss);
        c.loss = std::max(c.loss, std::abs(loss - expected.losses[step]) / std::abs(expected.losses[step]));
        double largest = 0;
        for (const auto& e : expected.gradients[step]) {
            double size = 0;
            for (double x : e) {
                size += x * x;
            }
            largest = std::max(largest, std::sqrt(size));
        }
        std::vector<double> all;
        std::vector<double> all_expected;
        for (int p = 0; p < g.parameter_count; ++p) {
            const auto& e = expected.gradients[step][ts::to_size(p)];
            if (e.empty() || !g.parameters[p].trained) {
                continue;
            }
            const std::vector<float> f = session.gradient(p);
            all.insert(all.end(), f.begin(), f.end());
            all_expected.insert(all_expected.end(), e.begin(), e.end());
            const double r = relative(std::vector<double>(f.begin(), f.end()), e, 1e-3 * largest);
            if (r > c.gradient) {
                c.gradient = r;
                c.worst = std::string(g.parameters[p].layer) + " slot " + std::to_string(g.parameters[p].slot) +
                          " step " + std::to_string(step);
            }
        }
        c.joint.push_back(relative(all, all_expected, 1e-12));
    }
    double largest = 0;
    for (const auto& e : expected.change) {
        double size = 0;
        for (double x : e) {
            size += x * x;
        }
        largest = std::max(largest, std::sqrt(size));
    }
    for (int p = 0; p < g.parameter_count; ++p) {
        const auto i = ts::to_size(p);
        const std::vector<float> f = session.parameter(p);
        c.parameters.push_back(f);
        std::vector<double> moved(f.begin(), f.end());
        for (std::size_t k = 0; k < moved.size(); ++k) {
            moved[k] -= static_cast<double>(start[i][k]);
        }
        c.change = std::max(c.change, relative(moved, expected.change[i], 1e-3 * largest));
        const auto copies = session.parameter_copies(p);
        for (const auto& a : copies) {
            for (const auto& b : copies) {
                c.copies_equal = c.copies_equal && (!(a.first == b.first) || a.second == b.second);
            }
        }
    }
    return c;
}

} // namespace test_support
