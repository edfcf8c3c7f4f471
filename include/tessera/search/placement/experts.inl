// SPDX-License-Identifier: Apache-2.0
// Bodies of experts.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/experts.hpp"

namespace tessera::search::placement {

TESSERA_INLINE found on_one_device(evaluator& e, int device) {
    return priced(e, assignment(e.graph().nodes.size(), device));
}

} // namespace tessera::search::placement

namespace tessera::search::placement::detail {

TESSERA_INLINE int used_devices(const evaluator& e, int devices) {
    return devices < 1 ? e.devices() : std::min(devices, e.devices());
}

} // namespace tessera::search::placement::detail

namespace tessera::search::placement {

TESSERA_INLINE found equal_times(evaluator& e, int devices) {
    const int used = detail::used_devices(e, devices);
    return priced(e, detail::cut_order(e, used, [&](int v) {
                      const task_time t = e.time(v, 0);
                      return static_cast<double>(t.forward + t.backward);
                  }));
}

TESSERA_INLINE found equal_memory(evaluator& e, int devices) {
    const int used = detail::used_devices(e, devices);
    return priced(e, detail::cut_order(e, used, [&](int v) {
                      const cost_node& n = e.graph().nodes[to_size(v)];
                      return static_cast<double>(n.resident_bytes) + static_cast<double>(n.output_bytes);
                  }));
}

TESSERA_INLINE found layer_by_layer(evaluator& e, int devices) {
    const int used = detail::used_devices(e, devices);
    return priced(e, detail::cut_order(
                         e, used, [&](int v) { return e.graph().nodes[to_size(v)].parameter_bytes > 0 ? 1.0 : 0.0; }));
}

} // namespace tessera::search::placement

#include "tessera/base/end_header.inl"
