// SPDX-License-Identifier: Apache-2.0
// Placements that people make by hand: everything on one device, equal cuts of the order for networks of images, whole layers for recurrent ones.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/found.hpp"

namespace tessera::search::placement {

/// Everything on one device.
inline found on_one_device(evaluator& e, int device = 0) {
    return priced(e, assignment(e.graph().nodes.size(), device));
}

namespace detail {

/// Cuts the topological order where the weight so far passes equal shares; groups go where their first nodes lie.
template <class Weight>
assignment cut_order(const evaluator& e, int devices, Weight weight) {
    const grouping groups = required_groups(e.graph(), e.order());
    std::vector<double> of_group(at(groups.count), 0);
    double total = 0;
    for (int v = 0; v < e.graph().count(); ++v) {
        of_group[at(groups.of[at(v)])] += weight(v);
        total += weight(v);
    }
    std::vector<int> device(at(groups.count), 0);
    double before = 0;
    for (int k = 0; k < groups.count; ++k) { // numbered by their first nodes
        const double middle = before + of_group[at(k)] / 2;
        device[at(k)] = total > 0 ? std::min(devices - 1, static_cast<int>(middle / total * devices)) : 0;
        before += of_group[at(k)];
    }
    return expand(groups, device);
}

inline int used_devices(const evaluator& e, int devices) {
    return devices < 1 ? e.devices() : std::min(devices, e.devices());
}

} // namespace detail

/// The topological order in parts of equal time, one for each of the first `devices` devices (0: all).
inline found equal_times(evaluator& e, int devices = 0) {
    const int used = detail::used_devices(e, devices);
    return priced(e, detail::cut_order(e, used, [&](int v) {
                      const task_time t = e.time(v, 0);
                      return static_cast<double>(t.forward + t.backward);
                  }));
}

/// The topological order in parts of equal memory: of what nodes hold and make.
inline found equal_memory(evaluator& e, int devices = 0) {
    const int used = detail::used_devices(e, devices);
    return priced(e, detail::cut_order(e, used, [&](int v) {
                      const cost_node& n = e.graph().nodes[detail::at(v)];
                      return static_cast<double>(n.held_bytes) + static_cast<double>(n.output_bytes);
                  }));
}

/// As many layers with parameters on every device: what people do with stacks of recurrent layers. Nodes without parameters follow what comes before them.
inline found layer_by_layer(evaluator& e, int devices = 0) {
    const int used = detail::used_devices(e, devices);
    return priced(e, detail::cut_order(e, used, [&](int v) {
                      return e.graph().nodes[detail::at(v)].parameter_bytes > 0 ? 1.0 : 0.0;
                  }));
}

} // namespace tessera::search::placement

#include "tessera/base/end_header.inl"
