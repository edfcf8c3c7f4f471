// SPDX-License-Identifier: Apache-2.0
// What PipeDream's profiler (Narayanan et al., SOSP 2019) measures of a network, layer by layer, and the cost graph
// that follows from it.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/number_text.hpp"
#include "tessera/search/placement/cost_graph.hpp"

#include <cmath>

namespace tessera::search::placement {

struct profiled_layer {
    std::string id;
    std::string kind; ///< as printed by the framework, with its arguments
    double forward_ms = 0;
    double backward_ms = 0;
    std::vector<double> output_bytes; ///< of every tensor that it makes
    double parameter_bytes = 0;
    int stage = -1; ///< that PipeDream's planner gave it; -1: none
    friend bool operator==(const profiled_layer&, const profiled_layer&) = default;

    double all_output_bytes() const;
    /// It stands for the input data. Its time is that of a data loader, which is no task of a device.
    bool is_input() const { return kind.compare(0, 5, "Input") == 0; }
    /// Number of the tensor that it picks out of what comes before it, or -1.
    int item() const;
};

struct layer_profile {
    std::string name;
    std::vector<profiled_layer> layers;
    std::vector<std::pair<int, int>> edges; ///< from and to, by place in the list
    friend bool operator==(const layer_profile&, const layer_profile&) = default;
};

struct profile_options {
    /// Of its parameters a device holds so many copies: themselves, their gradients, and the momentum.
    int parameter_copies = 3;
};

/// Times become whole ns. Input layers take no time, and no link carries their data: every device loads what it needs.
/// Throws tessera::error where the graph would not be sound, see require(cost_graph), or has a cycle.
cost_graph to_cost_graph(const layer_profile& p, const profile_options& o = {});

} // namespace tessera::search::placement

#ifndef TESSERA_COMPILED
#include "tessera/search/placement/layer_profile.inl"
#endif

#include "tessera/base/end_header.inl"
