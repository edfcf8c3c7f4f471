// SPDX-License-Identifier: Apache-2.0
// expect-error: power<0> is 1 everywhere; give power<> another exponent
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};

#ifdef TESSERA_EXPECT_ERROR
struct network : ts::sequential<ts::features<6>, fc1, ts::power<0>, ts::cross_entropy> {};
#else
struct network : ts::sequential<ts::features<6>, fc1, ts::power<2>, ts::cross_entropy> {};
#endif

inline constexpr auto view = ts::describe<network, 8>();
