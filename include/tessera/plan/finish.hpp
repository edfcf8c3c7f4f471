// SPDX-License-Identifier: Apache-2.0
// The last stages of planning: memory, waits, verification, hash.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/depend.hpp"
#include "tessera/plan/memory.hpp"
#include "tessera/plan/verify/verify.hpp"

namespace tessera {

/// A number that identifies what a bound plan does: tasks, tiles, formats, places and order.
std::uint64_t hash_of(const plan& p);

/// What every plan needs when its tasks stand: its tiles' places, its lists and its waits. It does not verify.
void complete(plan& p);

/// Finishes a bound plan: places its tiles, sets its waits, verifies it (throws tessera::error if it is not sound or
/// does not fit in `device_memory` bytes; 0: no limit; or is not for the optimizer that it is `made_for`, where that is
/// known) and hashes it.
void finish(const graph_view& g, plan& p, index_t device_memory = 0, const optimizer* made_for = nullptr);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/plan/finish.inl"
#endif

#include "tessera/base/end_header.inl"
