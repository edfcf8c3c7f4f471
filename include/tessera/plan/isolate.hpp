// SPDX-License-Identifier: Apache-2.0
// One task of a bound plan as a plan of its own, with memory of its own: what is needed to run it without the rest.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/plan/memory.hpp"

#include <string>

namespace tessera {

/// A plan of the task number `index` alone. Its tiles keep their devices and formats and lie one behind the other, none
/// in another's place; operands of other tasks are left out. `p` must be bound. Throws tessera::error where it has no
/// such task.
plan isolate(const plan& p, int index);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/plan/isolate.inl"
#endif

#include "tessera/base/end_header.inl"
