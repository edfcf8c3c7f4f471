// SPDX-License-Identifier: Apache-2.0
// All searches, optimized, in place of those that tests compile without.
#include "tessera/search/searches.hpp"

namespace test_support {

extern const void* searches_that_are_compiled;
const void* searches_that_are_compiled = &tessera::search::library_searches;

} // namespace test_support
