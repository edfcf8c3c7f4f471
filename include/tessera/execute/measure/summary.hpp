// SPDX-License-Identifier: Apache-2.0
// What a network in training is made of: layer by layer its shape, parameters, arithmetic and memory under the
// strategy, and the time of its tasks.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/number_text.hpp"
#include "tessera/net/first_users.hpp"
#include "tessera/plan/print.hpp"
#include "tessera/simulate/simulate.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace tessera {

/// One operator of a planned network. What several operators share (a parameter) counts for the first of them.
struct layer_summary {
    std::string name{}; ///< its path
    std::string kind{};
    shape output{};
    index_t parameters = 0; ///< numbers, trained or not
    index_t trained = 0;    ///< of them
    /// Floating-point operations of one step as its devices compute them, a multiply-add counted as two: what shards
    /// compute twice counts twice, and what is computed again for the backward pass counts again. Of a step the forward
    /// pass is a part; updates of parameters are not counted.
    index_t forward_flops = 0;
    index_t step_flops = 0;
    index_t parameter_bytes = 0; ///< of one copy, plain
    index_t output_bytes = 0;    ///< of one copy, plain, of the whole batch
    /// Of each device: its copies and slices of parameters, in the backend's formats.
    std::vector<index_t> device_parameter_bytes{};
    /// Of each device: its part of the output with what was brought to it of other devices' parts, what lies between
    /// the operator's nests, and what forward leaves to backward besides; of all micro-batches, which are not all there
    /// at the same time. Of what is computed in place: 0.
    std::vector<index_t> device_activation_bytes{};
    /// ns of each device in a step: of the tasks that compute this operator; and of its copies, sums of gradients and
    /// updates, each from its start to its end, which may run beside each other and the computation. Empty without a
    /// timeline. (A task that sums or updates several parameters counts for the first's operator.)
    std::vector<index_t> device_compute{};
    std::vector<index_t> device_other{};
};

/// A planned network with its layers. Times are those of a timeline, simulated or measured; 0 without one.
struct network_summary {
    std::vector<layer_summary> layers;
    index_t samples = 0; ///< of a full batch
    int devices = 1;
    index_t step = 0;                 ///< ns
    std::vector<index_t> state_bytes; ///< of each device: the optimizer's state, and what compressed gradients left out
    std::vector<index_t> persistent_bytes; ///< of each device: parameters and that, with the gaps between them
    std::vector<index_t> arena_bytes;      ///< of each device: the most that all else takes at a time

    /// The sum over all layers of a member, as total(&layer_summary::parameters).
    index_t total(index_t layer_summary::*what) const;
    /// The same of a member that is of each device.
    index_t total(std::vector<index_t> layer_summary::*what, int device) const;
};

namespace detail {

/// The operator on whose account a tile is of parameters or activations; -1: of neither.
int owner_of(const graph_view& g, const plan& p, const tile& t, const std::vector<int>& first_user);

void add_tiles(const graph_view& g, const plan& p, const std::vector<int>& first_user, network_summary& s);

void add_times(const plan& p, const simulation::timeline& when, network_summary& s);

} // namespace detail

/// Of a finished plan of the network, with the times of one run of it, if there is one. Where the plan covers several
/// steps, numbers are of one of them.
network_summary summarize(const graph_view& g, const plan& p, const simulation::timeline* when = nullptr);

/// Of a trainer's training plan, as it runs: operators that are fused are one layer. What trainer.summary() gives.
template <class Trainer>
requires requires(const Trainer& t) { t.training_plan(); }
network_summary summarize(const Trainer& t) { return summarize(t.planned_graph(), t.training_plan()); }
/// With the times of a run of that plan: measured by session::step, or simulated elsewhere.
template <class Trainer>
requires requires(const Trainer& t) { t.training_plan(); }
network_summary summarize(const Trainer& t, const simulation::timeline& when) {
    return summarize(t.planned_graph(), t.training_plan(), &when);
}
/// With the times that are predicted on a machine: that very plan simulated, by measured `times` or by the rooflines of
/// the machine's devices. Throws tessera::error for a machine of too few devices.
template <class Trainer>
requires requires(const Trainer& t) { t.training_plan(); }
network_summary summarize(const Trainer& t, const cluster& on, const simulation::task_times& times = {}) {
    return summarize(t, simulation::simulate(t.planned_graph(), t.training_plan(), on, times));
}

namespace detail {

/// 12345678 as 12.35 M; whole below 10 000.
std::string short_number(index_t x);

std::string in_milliseconds(index_t ns);

index_t largest(const std::vector<index_t>& of_devices);

/// One line for each device: what it holds and does.
std::string text_of_devices(const network_summary& s);

} // namespace detail

/// A table: a line for each layer, then the sums of all, then a line for each device. Of several devices a layer's
/// bytes and times are those of the device that has most.
std::string to_text(const network_summary& s);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/measure/summary.inl"
#endif

#include "tessera/base/end_header.inl"
