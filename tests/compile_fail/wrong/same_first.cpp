// SPDX-License-Identifier: Apache-2.0
// expect-error: the number is odd
#include "same.hpp"

#ifdef TESSERA_EXPECT_ERROR
static constexpr int number = tessera_even<3>::value;
#else
static constexpr int number = tessera_even<2>::value;
#endif
