// SPDX-License-Identifier: Apache-2.0
// How a Placeto policy is trained and tried.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/finite.hpp"
#include "tessera/base/number_text.hpp"
#include "tessera/learned/learning_options.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::learned {

enum class placeto_rewards {
    immediate, ///< every step: by how much it lowered the cost
    terminal,  ///< the last step of an episode alone: the cost, negative
};

/// An episode visits all groups in topological order, `passes` times over, and puts the current one on a device each
/// time. The cost of a placement is
///   its simulated step / work of all nodes + memory_penalty * excess bytes / memory of a device
/// Rates, clip and baseline are those of the authors' notes; what they leave open is ours.
struct placeto_options {
    int episodes = 8; ///< at once: the batch of an update
    int passes = 1;
    placeto_rewards rewards = placeto_rewards::immediate;
    double discount = 1;
    double memory_penalty = 2;
    double learning_rate = 3e-3; ///< falls to last_rate in a straight line over so many updates
    double last_rate = 3e-4;
    int rate_updates = 1000;
    double clip_norm = 1.25; ///< of all gradients together
    double entropy = 0.1;    ///< coefficient of the bonus, which falls to 0 in a straight line
    int entropy_updates = 500;
    int baseline_updates = 10; ///< the baseline of a step is the mean return at the same step in so many updates before
    /// Advantages are divided by their root mean square over the batch; not in the paper.
    bool scaled = true;
    /// Not in the paper: every device is priced for the current group, and each gets its exact advantage of one step,
    /// how much lower its cost is than what the policy expects. `rewards`, `discount` and the baseline then do not
    /// count.
    bool all_actions = false;
    std::uint64_t seed = 1;
};

/// Throws tessera::error that says which option makes no sense.
void require(const placeto_options& o);

/// How a policy that learns nothing from it places a graph.
struct placeto_trial {
    int passes = 1;       ///< the placement after each of them is priced, and the best is returned
    bool sampled = false; ///< devices are drawn from the policy; else the most likely one is taken
    std::uint64_t seed = 1;
    std::vector<int> start{}; ///< the device of every group; empty: at random
};

/// What an update has seen.
struct placeto_update {
    double first_cost = 0;      ///< mean over episodes, of the placements that they began with
    double last_cost = 0;       ///< and ended with
    double return_variance = 0; ///< of returns between episodes, mean over steps
};

} // namespace tessera::learned

#ifndef TESSERA_COMPILED
#include "tessera/learned/placeto_options.inl"
#endif

#include "tessera/base/end_header.inl"
