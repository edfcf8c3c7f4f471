// SPDX-License-Identifier: Apache-2.0
// expect-error: a layer with parameters is used twice; write shared<> to share them or repeat<> for separate ones
// expect-error: layer<fc1>
// expect-error: found<2>
// expect-error: needed<1>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<10> {};

#ifdef TESSERA_EXPECT_ERROR
struct network : ts::sequential<ts::features<10>, fc1, ts::relu, fc1, ts::cross_entropy> {};
#else
struct network : ts::sequential<ts::features<10>, fc1, ts::relu, ts::shared<fc1>, ts::cross_entropy> {};
#endif

inline constexpr auto view = ts::describe<network, 8>();
