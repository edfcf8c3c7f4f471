// SPDX-License-Identifier: Apache-2.0
// Replicas of networks and pipelines, and a few nodes that stand for many.
#pragma once

#include "benchmarks/papers/schedules.hpp"

namespace papers {

/// A network `replicas` times, operator by operator, that share all they train: what data parallel systems make of it
/// when every replica normalizes by its own samples (Tessera's data parallelism normalizes by all samples and exchanges
/// their statistics). Operator i of replica r is i * replicas + r.
inline ts::graph replicas_of(const ts::graph& g, int replicas) {
    ts::graph all;
    const auto n = ts::to_size(replicas);
    std::vector<int> first_parameter;
    for (const ts::parameter_node& p : g.parameters) { // running statistics are each replica's own
        first_parameter.push_back(static_cast<int>(all.parameters.size()));
        all.parameters.insert(all.parameters.end(), p.trained ? 1 : n, p);
    }
    for (const ts::tensor_node& t : g.tensors) {
        for (int r = 0; r < replicas; ++r) {
            all.tensors.push_back(t);
            all.tensors.back().producer = t.producer < 0 ? -1 : t.producer * replicas + r;
        }
    }
    for (const ts::op_node& x : g.ops) {
        for (int r = 0; r < replicas; ++r) {
            ts::op_node y = x;
            y.instance = x.instance * replicas + r;
            y.output = x.output * replicas + r;
            for (int& t : y.inputs) {
                t = t * replicas + r;
            }
            for (int& p : y.parameters) {
                p = first_parameter[ts::to_size(p)] + (g.parameters[ts::to_size(p)].trained ? 0 : r);
            }
            all.ops.push_back(y);
        }
    }
    return all;
}

/// The strategy of every replica, each on `devices` devices of its own.
inline ts::strategy replicas_of(const ts::strategy& s, int replicas, int devices) {
    ts::strategy all = s;
    all.ops.clear();
    for (const ts::configuration& c : s.ops) {
        for (int r = 0; r < replicas; ++r) {
            all.ops.push_back(c);
            all.ops.back().start += r * devices;
        }
    }
    return all;
}

/// The card of each of `shown` nodes that makes an all-reduce among them take what one among `nodes` takes: by
/// recursive halving and doubling lg p rounds and (p-1)/p of the bytes over every card in each half (Thakur,
/// Rabenseifner and Gropp 2005), p the nodes. Exact where nothing but gradients goes over the cards and the members'
/// devices within a node are the same; each device updates more than its share of the parameters.
struct card {
    index_t megabytes = 0;
    index_t latency = 0;
};
inline card standing_for(const card& real, int shown, int nodes) {
    const auto share = [](int p) { return static_cast<double>(p - 1) / p; };
    const double slower = share(nodes) / share(shown);
    const int rounds = ts::cost::ceil_log2(nodes);
    return {static_cast<index_t>(static_cast<double>(real.megabytes) / slower),
            real.latency * rounds / ts::cost::ceil_log2(shown)};
}

} // namespace papers
