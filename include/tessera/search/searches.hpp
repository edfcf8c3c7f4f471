// SPDX-License-Identifier: Apache-2.0
// The library's searches by name. A new one is a file with its record, and a row here or in quick_searches.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/optimum.hpp"
#include "tessera/search/coarse/coarse_search.hpp"
#include "tessera/search/exhaustive/simulated.hpp"
#include "tessera/search/fit/named.hpp"
#include "tessera/search/grid/search.hpp"
#include "tessera/search/joint/search.hpp"
#include "tessera/search/quick_searches.hpp"
#include "tessera/search/run.hpp"
#include "tessera/search/tofu/named.hpp"

namespace tessera::search {

/// In the order in which lists show them.
inline constexpr std::array other_searches{&mcmc_record, &fit_record,      &exhaustive_record,
                                           &grid_record, &joint_record,    &optimum_record,
                                           &tofu_record, &pipeline_record, &hypar_flow_record};
inline constexpr std::array library_searches = join(other_searches, quick_searches<>);

/// The same as a list to which others can be added.
inline std::vector<const search_record*> every_search() { return {library_searches.begin(), library_searches.end()}; }

/// The library's search of a name. Throws tessera::error, with names that are like it and the advice, where there is
/// none.
const search_record& search_named(std::string_view name, const std::string& advice = {});

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/searches.inl"
#endif

#include "tessera/base/end_header.inl"
