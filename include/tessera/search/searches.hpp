// SPDX-License-Identifier: Apache-2.0
// The library's searches by name. A new one is a file with its record, and a row here or in quick_searches.hpp.
#pragma once

#include "tessera/search/coarse_search.hpp"
#include "tessera/search/fit_named.hpp"
#include "tessera/search/grid_search.hpp"
#include "tessera/search/quick_searches.hpp"
#include "tessera/search/run.hpp"
#include "tessera/search/simulated_exhaustive.hpp"

namespace tessera::search {

/// In the order in which lists show them.
inline constexpr std::array other_searches{&mcmc_record, &fit_record,      &exhaustive_record,
                                           &grid_record, &pipeline_record, &hypar_flow_record};
inline constexpr std::array library_searches = join(other_searches, quick_searches);

/// The same as a list to which others can be added.
inline std::vector<const search_record*> every_search() { return {library_searches.begin(), library_searches.end()}; }

} // namespace tessera::search
