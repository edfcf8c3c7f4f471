// SPDX-License-Identifier: Apache-2.0
// GDP's network without one of its parts, against plain loops in double.
#ifdef TESSERA_TEST_HOST

#include "learned/gdp_cases.hpp"

using namespace learned_test;

TEST_CASE("a GDP policy without recurrence, or without all three of its parts, makes what plain loops make") {
    check_logits<with(small, true, false, true)>();
    check_logits<with(small, false, false, false)>();
}

#endif
