// SPDX-License-Identifier: Apache-2.0
// Strategies by which equal parts of a machine do the same, each with samples of its own (data parallelism outside of
// whatever else): two parts are planned and simulated, the first, which holds the first summands, and one that stands
// for all others; what is exchanged between parts is priced over all of them.
// Step time, memory and bytes are those of the simulation of all devices, exactly; its time and memory do not grow with
// the number of parts.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/finished_step.hpp"
#include "tessera/simulate/part_lanes.hpp"

#include <string>

namespace tessera::search {

/// A strategy as that of equal parts.
struct equal_parts {
    int parts = 1;
    graph network;     ///< with the samples of two parts
    strategy how;      ///< of two parts
    std::string whole; ///< why there is one part only: what the parts of any number would not do alike
};

/// A strategy as that of the most equal parts of the machine's devices, three or more, part k those from k * (devices /
/// parts) on, that may do the same: every operator is split along the samples so many times more than in a part, and
/// the devices of a part are those of the part before it, each by as many farther on.
equal_parts equal_parts_of(const graph_view& g, const cluster& on, const strategy& s, const lower_options& o = {});

/// A step of all devices, from two of many parts where that is exact.
struct parts_step {
    finished_step step;
    int parts = 1;     ///< that do the same; 1: all devices were simulated
    std::string whole; ///< why that was so
};

/// The same as simulate_finished(): from two parts where their times stand for all, else from everything.
parts_step simulate_parts(const graph_view& g, const cluster& on, const strategy& s,
                          const simulation::task_times& times = {}, const lower_options& lowering = {});

/// The step from two parts, or, where it would not be exact, why (parts_step::whole; then there is no step). It may
/// throw what simulate_finished() throws.
parts_step simulate_planned_parts(const cluster& on, const equal_parts& x, const simulation::task_times& times = {},
                                  const lower_options& lowering = {});

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/equal_parts.inl"
#endif

#include "tessera/base/end_header.inl"
