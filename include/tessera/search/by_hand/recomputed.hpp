// SPDX-License-Identifier: Apache-2.0
// What people recompute, for a strategy that is there: selectively, whole blocks, every so many blocks together.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/strategy/recomputation.hpp"
#include "tessera/strategy/strategy.hpp"

#include <string>
#include <string_view>

namespace tessera::search {

/// Says of every operator whether it recomputes, by a rule; see recompute_by(). Throws tessera::error where `every` is
/// below 1.
void recompute(strategy& s, const graph_view& g, const recompute_rule& how);

/// "none", "selective", "full", or "every:4" for blocks that are made again by four.
std::string to_text(const recompute_rule& how);
/// The opposite. Throws tessera::error for other texts.
recompute_rule recompute_rule_of(std::string_view text);

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/by_hand/recomputed.inl"
#endif

#include "tessera/base/end_header.inl"
