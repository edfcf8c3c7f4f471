// SPDX-License-Identifier: Apache-2.0
// A plan with its simulated run and, where there is one, its measured one: what traces and reports show.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/machine/lanes.hpp"
#include "tessera/plan/print.hpp"
#include "tessera/search/finished_step.hpp"
#include "tessera/simulate/activities.hpp"
#include "tessera/simulate/memory_profile.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tessera::io {

/// The network and the cluster must outlive it.
struct shown_run {
    graph_view network;
    const cluster* on = nullptr;
    strategy how;
    tessera::plan plan; ///< finished
    simulation::timeline simulated;
    simulation::activity_trace activities; ///< of the simulated run
    std::optional<simulation::timeline> measured;
    std::vector<std::string> names; ///< of the network's operators
};

/// Plans and simulates a strategy, bound by the cost model (search::bound_plan), so that its memory holds workspaces. Throws tessera::error for a strategy that breaks a rule or does not fit the memory of `device_memory` bytes (0: no
/// limit).
inline shown_run simulated_run(const graph_view& g, const strategy& s, const cluster& on,
                               const lower_options& lowering = {}, const simulation::task_times& times = {},
                               index_t device_memory = 0) {
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

namespace detail {

/// What a stretch of time is spent on, for its colour.
enum class activity_kind : std::uint8_t { forward, backward, recompute, update, copy, collective, sum };

constexpr const char* activity_name(activity_kind k) {
    constexpr const char* names[] = {"forward", "backward", "recompute", "update", "copy", "collective", "sum"};
    return names[static_cast<int>(k)];
}

inline activity_kind kind_of(const task& t, bool in_group) {
    switch (t.kind) {
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

/// "conv1 forward", and for what else "copy for conv1 forward".
inline std::string text_of_task(const shown_run& r, const task& t) {
    const std::string name = t.op < 0 ? std::string("-") : r.names[static_cast<std::size_t>(t.op)];
    const bool plain = t.kind == task_kind::compute || (t.kind == task_kind::update && t.what == pass::update);
    const std::string more =
        t.parts.empty() ? "" : " and of " + std::to_string(t.parts.size() - 1) + " parameters more";
    return (plain ? "" : std::string(to_text(t.kind)) + " for ") + name + " " + to_text(t.what) + more;
}

/// True where a device does something beside its computation.
inline bool has_row_beside(const shown_run& r, int device) {
    return r.plan.streams > 1 || !r.on->class_of(device).copies_in_turn;
}

/// Where a span of a task stands in a measured timeline: beside the computation (1) unless the device copies in turn, on one row.
inline int measured_row(const shown_run& r, const task& t) {
    const bool in_turn = r.on->class_of(t.device).copies_in_turn;
    const bool beside =
        in_turn ? t.stream != task_stream::compute : t.kind != task_kind::compute; // a queue stands there too
    return beside ? 1 : 0;
}

} // namespace detail

} // namespace tessera::io

#include "tessera/base/end_header.inl"
