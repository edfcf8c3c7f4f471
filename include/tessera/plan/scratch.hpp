// SPDX-License-Identifier: Apache-2.0
// Scratch memory of tasks, which binding adds: a backend by what its implementations ask for, a cost model by what it
// assumes.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/cost/workspace.hpp"
#include "tessera/net/graph.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera {

/// A tile of working memory on a device.
int add_scratch(plan& p, int device, index_t bytes);

/// Binds a logical plan for a machine that nobody has: formats stay plain, and tasks get the working memory that the
/// cost model assumes. What follows is what follows any binding: complete(), or finish().
void bind_by_model(const graph_view& g, plan& p);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/plan/scratch.inl"
#endif

#include "tessera/base/end_header.inl"
