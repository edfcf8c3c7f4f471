// SPDX-License-Identifier: Apache-2.0
// A plan is verified before it runs. Nothing here trusts lowering: the rules are checked on the finished plan.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/moves.hpp"
#include "tessera/plan/verify/pieces.hpp"
#include "tessera/plan/verify/shards.hpp"
#include "tessera/plan/verify/updates.hpp"
#include "tessera/plan/verify/verifier.hpp"

namespace tessera {

/// Checks a finished plan: each computation reads and writes what its operator's description asks for; shards fill
/// their operator's loops, each point once per declared copy, and at most once again for backward; micro-batches add
/// up; what moves stays what it is, and every copy covers its target; each gradient is summed and each parameter
/// updated once, with its own state; results are where they are listed; no deadlock; no race, neither on tiles nor on
/// arena memory; collectives are complete and issued in one order; and memory fits (`device_memory` bytes for each
/// device; 0: no limit). `made_for`: the optimizer that will take the plan's gradients, where it is known. The verdict
/// names the operator, the shard and the rule.
verdict verify(const graph_view& g, const plan& p, index_t device_memory = 0, const optimizer* made_for = nullptr);

/// Throws tessera::error with the verdict on a plan that is not sound.
void require_sound(const graph_view& g, const plan& p, index_t device_memory = 0, const optimizer* made_for = nullptr);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/plan/verify/verify.inl"
#endif

#include "tessera/base/end_header.inl"
