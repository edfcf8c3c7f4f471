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

/// Plans and simulates a strategy, bound by the cost model (search::bound_plan), so that its memory holds workspaces.
/// Throws tessera::error for a strategy that breaks a rule or does not fit the memory of `device_memory` bytes (0: no
/// limit).
shown_run simulated_run(const graph_view& g, const strategy& s, const cluster& on, const lower_options& lowering = {},
                        const simulation::task_times& times = {}, index_t device_memory = 0);

namespace detail {

/// What a stretch of time is spent on, for its colour.
enum class activity_kind : std::uint8_t { forward, backward, recompute, update, copy, collective, sum };

constexpr const char* activity_name(activity_kind k) {
    constexpr const char* names[] = {"forward", "backward", "recompute", "update", "copy", "collective", "sum"};
    return names[static_cast<int>(k)];
}

activity_kind kind_of(const task& t, bool in_group);

/// "conv1 forward", and for what else "copy for conv1 forward".
std::string text_of_task(const shown_run& r, const task& t);

/// True where a device does something beside its computation.
bool has_copy_row(const shown_run& r, int device);

/// Where a span of a task stands in a measured timeline: beside the computation (1) unless the device copies in turn,
/// on one row.
int measured_row(const shown_run& r, const task& t);

} // namespace detail

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/reports/shown_run.inl"
#endif

#include "tessera/base/end_header.inl"
