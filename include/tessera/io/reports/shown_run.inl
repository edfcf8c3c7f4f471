// SPDX-License-Identifier: Apache-2.0
// Bodies of shown_run.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/reports/shown_run.hpp"

namespace tessera::io {

TESSERA_INLINE shown_run simulated_run(const graph_view& g, const strategy& s, const cluster& on,
                                       const lower_options& lowering, const simulation::task_times& times,
                                       index_t device_memory) {
    require(g, s.view(), on.devices());
    shown_run r;
    r.network = g;
    r.on = &on;
    r.how = s;
    r.plan = search::bound_plan(g, s, on.devices(), lowering);
    finish(g, r.plan, device_memory);
    r.simulated = simulation::simulate(g, r.plan, on, times);
    r.activities = simulation::trace(g, r.plan, on, times);
    for (int op = 0; op < g.op_count; ++op) {
        r.names.push_back(path_of(g, op));
    }
    return r;
}

} // namespace tessera::io

namespace tessera::io::detail {

TESSERA_INLINE activity_kind kind_of(const task& t, bool in_group) {
    switch (t.kind()) {
    case task_kind::gather:
    case task_kind::average:
    case task_kind::decompress:
        return activity_kind::collective;
    case task_kind::copy:
    case task_kind::reorder:
        return activity_kind::copy;
    case task_kind::update:
    case task_kind::reduce:
        return in_group ? activity_kind::collective : activity_kind::update;
    case task_kind::norm:
    case task_kind::compress:
        return activity_kind::update;
    case task_kind::sum:
        return activity_kind::sum;
    case task_kind::compute:
        break;
    }
    return t.what == pass::recompute                             ? activity_kind::recompute
           : t.what == pass::forward || t.what == pass::evaluate ? activity_kind::forward
           : t.what == pass::update                              ? activity_kind::update
                                                                 : activity_kind::backward;
}

TESSERA_INLINE std::string text_of_task(const shown_run& r, const task& t) {
    const std::string name = t.op < 0 ? std::string("-") : r.names[to_size(t.op)];
    const bool plain = t.kind() == task_kind::compute || (t.kind() == task_kind::update && t.what == pass::update);
    const std::string more =
        t.params().parts.empty() ? "" : " and of " + std::to_string(t.params().parts.size() - 1) + " parameters more";
    return (plain ? "" : std::string(to_text(t.kind())) + " for ") + name + " " + to_text(t.what) + more;
}

TESSERA_INLINE bool has_copy_row(const shown_run& r, int device) {
    return r.plan.streams > 1 || !r.on->class_of(device).serial_copies;
}

TESSERA_INLINE int measured_row(const shown_run& r, const task& t) {
    const bool serial = r.on->class_of(t.device).serial_copies;
    const bool has_copies =
        serial ? t.stream != task_stream::compute : t.kind() != task_kind::compute; // a queue stands there too
    return has_copies ? 1 : 0;
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
