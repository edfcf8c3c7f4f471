// SPDX-License-Identifier: Apache-2.0
// Activities of what devices sum and share: a group of updates, the messages that a synchronization policy makes, with
// one collective for all tasks of a message, and what goes to a parameter server and back.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/task_activities.hpp"

namespace tessera::simulation {} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/collective_activities.inl"
#endif

#include "tessera/base/end_header.inl"
