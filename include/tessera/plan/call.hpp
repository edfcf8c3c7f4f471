// SPDX-License-Identifier: Apache-2.0
// From a compute task of a plan to the call that a backend answers.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/plan.hpp"

namespace tessera {

/// The call behind a compute task; data pointers are left null. Recomputing is forward for a backend.
compute_call call_of(const plan& p, const task& t, const graph_view& g, const description& d);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/plan/call.inl"
#endif

#include "tessera/base/end_header.inl"
