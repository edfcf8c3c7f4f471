// SPDX-License-Identifier: Apache-2.0
// Which operator introduces a parameter, and whose parameters an operator takes.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/graph.hpp"

#include <vector>

namespace tessera {

/// Of every parameter, the first operator that uses it; -1 where none does.
std::vector<int> first_users_of(const graph_view& g);

/// The operator whose parameters another takes, as far as it has them, with parameters of its own behind those; -1
/// where all are its own, and -2 where they come from several operators or in another order.
int source_of_parameters(const graph_view& g, const std::vector<int>& first_users, int op);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/net/first_users.inl"
#endif

#include "tessera/base/end_header.inl"
