// SPDX-License-Identifier: Apache-2.0
// Placements that people make by hand: everything on one device, equal cuts of the order for networks of images, whole
// layers for recurrent ones.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/found.hpp"

namespace tessera::search::placement {

/// Everything on one device.
found on_one_device(evaluator& e, int device = 0);

namespace detail {

/// Cuts the topological order where the weight so far passes equal shares; groups go where their first nodes lie.
template <class Weight>
assignment cut_order(const evaluator& e, int devices, Weight weight) {
    const grouping groups = required_groups(e.graph(), e.order());
    std::vector<double> of_group(to_size(groups.count), 0);
    double total = 0;
    for (int v = 0; v < e.graph().count(); ++v) {
        of_group[to_size(groups.of[to_size(v)])] += weight(v);
        total += weight(v);
    }
    std::vector<int> device(to_size(groups.count), 0);
    double before = 0;
    for (int k = 0; k < groups.count; ++k) { // numbered by their first nodes
        const double middle = before + of_group[to_size(k)] / 2;
        device[to_size(k)] = total > 0 ? std::min(devices - 1, static_cast<int>(middle / total * devices)) : 0;
        before += of_group[to_size(k)];
    }
    return expand(groups, device);
}

int used_devices(const evaluator& e, int devices);

} // namespace detail

/// The topological order in parts of equal time, one for each of the first `devices` devices (0: all).
found equal_times(evaluator& e, int devices = 0);

/// The topological order in parts of equal memory: of what nodes hold and make.
found equal_memory(evaluator& e, int devices = 0);

/// As many layers with parameters on every device: what people do with stacks of recurrent layers. Nodes without
/// parameters follow what comes before them.
found layer_by_layer(evaluator& e, int devices = 0);

} // namespace tessera::search::placement

#ifndef TESSERA_COMPILED
#include "tessera/search/placement/experts.inl"
#endif

#include "tessera/base/end_header.inl"
