// SPDX-License-Identifier: Apache-2.0
// The problem of splitting a network over the devices of a pipeline: Tarnawski et al., "Efficient Algorithms for Device
// Placement of DNN Graph Operators" (NeurIPS 2020, section 3), in the terms of the format in which its authors publish
// inputs.
//
// A split gives every node one of `accelerators` devices with memory, or one of `cpus` without a limit. The time per
// sample of a pipeline is its greatest load. A CPU's load is the time of its nodes. An accelerator's is that and the
// cost of every node whose output comes in or goes out, once each.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/number_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tessera::search::placement {

inline constexpr int most_split_devices = 1024;
inline constexpr double most_split_number = 1e18; ///< of times, sizes and costs

struct split_node {
    std::int64_t id = 0;
    std::string name{};
    bool accelerated = true; ///< an accelerator can run it
    bool backward = false;
    double cpu_time = 0; ///< all times and costs are in the unit of the input, mostly ms
    double accelerator_time = 0;
    double size = 0;        ///< bytes that it takes on an accelerator
    double output_cost = 0; ///< of moving its output between an accelerator and the memory of the host
    int group = -1;         ///< nodes of one group (a "color class") lie on one device; -1: alone
    friend bool operator==(const split_node&, const split_node&) = default;
};

struct split_edge {
    int from = 0; ///< nodes by their place in the list
    int to = 0;
    double bytes = -1; ///< -1: not known
    friend bool operator==(const split_edge&, const split_edge&) = default;
};

struct split_problem {
    std::string name{};
    double memory = 0; ///< bytes of every accelerator
    int accelerators = 1;
    int cpus = 0;
    std::vector<split_node> nodes;
    std::vector<split_edge> edges;
    friend bool operator==(const split_problem&, const split_problem&) = default;

    int devices() const { return accelerators + cpus; }
    bool is_cpu(int device) const { return device >= accelerators; } ///< accelerators come first
};

namespace detail {

[[noreturn]] void refuse_split(const split_problem& p, const std::string& what);

std::string text_of_node(const split_node& n);

void check_number(const split_problem& p, const split_node& n, const char* what, double value);

/// A cycle among the edges that `counts`, as a text; "" where there is none.
template <class Counts>
std::string cycle_of(const split_problem& p, Counts counts) {
    const std::size_t n = p.nodes.size();
    std::vector<int> waits(n, 0);
    std::vector<std::vector<int>> out(n);
    for (const split_edge& e : p.edges) {
        if (counts(e)) {
            ++waits[to_size(e.to)];
            out[to_size(e.from)].push_back(e.to);
        }
    }
    std::vector<int> free;
    for (std::size_t v = 0; v < n; ++v) {
        if (waits[v] == 0) {
            free.push_back(static_cast<int>(v));
        }
    }
    std::size_t done = 0;
    for (; done < free.size(); ++done) {
        for (const int w : out[to_size(free[done])]) {
            if (--waits[to_size(w)] == 0) {
                free.push_back(w);
            }
        }
    }
    if (done == n) {
        return "";
    }
    std::vector<int> back(n, -1); // of nodes that never were free, one that they wait for
    for (const split_edge& e : p.edges) {
        if (counts(e) && waits[to_size(e.from)] > 0) {
            back[to_size(e.to)] = e.from;
        }
    }
    int v = 0;
    while (waits[to_size(v)] == 0) {
        ++v;
    }
    std::vector<char> seen(n, 0);
    for (; seen[to_size(v)] == 0; v = back[to_size(v)]) {
        seen[to_size(v)] = 1;
    }
    std::vector<int> ring;
    for (int w = v; ring.empty() || w != v; w = back[to_size(w)]) {
        ring.push_back(w);
    }
    std::string text = std::to_string(p.nodes[to_size(v)].id);
    for (std::size_t i = ring.size(); i-- > 0;) {
        text += i + 8 < ring.size() && i > 0 ? "" : " -> " + std::to_string(p.nodes[to_size(ring[i])].id);
    }
    return text;
}

} // namespace detail

/// Throws tessera::error, which names the node or edge by its id, unless ids differ, numbers are finite and at least 0,
/// edges join nodes without a cycle, and no backward node comes before a forward one.
void require(const split_problem& p);

/// The device of every node.
using split = std::vector<int>;

/// The load of every device. The split must have a device that exists for every node.
std::vector<double> loads(const split_problem& p, const split& s);

/// The time per sample: the greatest load.
double max_load(const split_problem& p, const split& s);

/// Why a split breaks a rule (a device that does not exist, memory, a node that an accelerator cannot run, groups),
/// with the node or device; "" where it keeps all.
std::string trouble_of(const split_problem& p, const split& s);

} // namespace tessera::search::placement

#ifndef TESSERA_COMPILED
#include "tessera/search/placement/split_problem.inl"
#endif

#include "tessera/base/end_header.inl"
