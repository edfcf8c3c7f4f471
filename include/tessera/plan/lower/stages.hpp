// SPDX-License-Identifier: Apache-2.0
// Stages and the order of their actions: a schedule's, or micro-batches one after the other.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/input.hpp"
#include "tessera/schedule/timetable.hpp"

namespace tessera::lowering {

/// What is done, and by which operators.
struct action_order {
    std::vector<std::vector<int>> stages; ///< operators of each
    std::vector<action> actions;
    int sweeps = 1; ///< micro-batches with samples
};

/// For every stage those that read what it makes.
std::vector<std::vector<int>> stages_after(const lowering_input& in, std::size_t stages);

/// The actions of all stages and micro-batches: a schedule's, or micro-batches one after the other through all stages.
std::vector<action> all_actions(const lowering_input& in, int stages);

/// Where batch norms take their statistics over all micro-batches: every stage forward for all of them, stage by stage,
/// then every stage backward. The schedule lets them, which is a rule.
std::vector<action> joint_actions(const std::vector<action>& all, int stages);

/// Decides on the actions and their order.
action_order arrange(const lowering_input& in);

/// How many actions of the stages there are until all losses are known. No parameter changes before: a step whose loss
/// is not finite changes nothing.
std::size_t actions_until_losses(const lowering_input& in, const action_order& order);

} // namespace tessera::lowering

#ifndef TESSERA_COMPILED
#include "tessera/plan/lower/stages.inl"
#endif

#include "tessera/base/end_header.inl"
