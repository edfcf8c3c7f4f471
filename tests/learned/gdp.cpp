// SPDX-License-Identifier: Apache-2.0
// GDP's network against plain loops in double: GraphSAGE, attention with memory, superposition.
#ifdef TESSERA_TEST_HOST

#include "learned/gdp_cases.hpp"

using namespace learned_test;

TEST_CASE("a GDP policy makes what plain loops make") {
    check_logits<small>();
    check_logits<with(small, false, true, true)>();
}

#endif
