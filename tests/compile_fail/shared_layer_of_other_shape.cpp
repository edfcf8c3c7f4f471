// SPDX-License-Identifier: Apache-2.0
// expect-error: layers that share a parameter need it in the same shape
// expect-error: layer<fc1>
// expect-error: found<100>
// expect-error: needed<160>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<10> {};

#ifdef TESSERA_EXPECT_ERROR
struct network : ts::sequential<ts::features<16>, fc1, ts::shared<fc1>, ts::cross_entropy> {};
#else
struct network : ts::sequential<ts::features<10>, fc1, ts::shared<fc1>, ts::cross_entropy> {};
#endif

inline constexpr auto view = ts::describe<network, 8>();
