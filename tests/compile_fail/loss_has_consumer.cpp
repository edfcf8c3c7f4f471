// SPDX-License-Identifier: Apache-2.0
// expect-error: nothing may follow a loss
// expect-error: layer<tessera::relu>
// expect-error: found<1>
// expect-error: needed<0>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<10> {};

#ifdef TESSERA_EXPECT_ERROR
struct network : ts::sequential<ts::features<10>, fc1, ts::cross_entropy, ts::relu> {};
#else
struct network : ts::sequential<ts::features<10>, fc1, ts::relu, ts::cross_entropy> {};
#endif

inline constexpr auto view = ts::describe<network, 8>();
