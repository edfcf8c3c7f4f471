// SPDX-License-Identifier: Apache-2.0
// A stretch of a plan's tasks as a plan of its own, for simulations of what runs in parts, such as forward without
// backward.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/plan/plan.hpp"

#include <string>

namespace tessera {

/// The tasks numbered from `first` on and below `last`, on the plan's tiles: what the ones before them have left is
/// there. They wait for each other as they do in the whole plan. Throws tessera::error where there are no such tasks,
/// and for a plan of several steps or with queues, whose tasks have no one order.
plan stretch_of(const plan& p, int first, int last);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/plan/stretch.inl"
#endif

#include "tessera/base/end_header.inl"
