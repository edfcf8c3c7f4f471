// SPDX-License-Identifier: Apache-2.0
// A search by its record: checks what is asked for, runs it, and gives what it finds what it does not see to itself.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/fit/policies.hpp"
#include "tessera/search/fused.hpp"
#include "tessera/search/offload/within_memory.hpp"
#include "tessera/search/recompute/within_memory.hpp"
#include "tessera/search/record.hpp"

namespace tessera::search {

namespace detail {

/// Throws tessera::error for an option that neither the search nor the schedule or policy that is asked for has, and
/// for values out of limits.
void check_options(const search_record& r, const search_options& o);

} // namespace detail

/// Runs a search. What it finds is given the micro-batches, the recomputation and the policy that are asked for, unless
/// it takes them itself. Throws tessera::error for options that it does not have, for a number of micro-batches that it
/// does not keep to, and where it finds nothing.
search_found run(const search_record& r, const graph_view& g, const cluster& on, const search_options& o = {});

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/run.inl"
#endif

#include "tessera/base/end_header.inl"
