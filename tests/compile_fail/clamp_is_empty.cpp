// SPDX-License-Identifier: Apache-2.0
// expect-error: clamp<least, most>: the first bound is above the second
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};

#ifdef TESSERA_EXPECT_ERROR
struct network : ts::sequential<ts::features<6>, fc1, ts::clamp<1, -1>, ts::cross_entropy> {};
#else
struct network : ts::sequential<ts::features<6>, fc1, ts::clamp<-1, 0.5>, ts::cross_entropy> {};
#endif

inline constexpr auto view = ts::describe<network, 8>();
