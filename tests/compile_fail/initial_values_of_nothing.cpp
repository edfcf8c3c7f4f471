// SPDX-License-Identifier: Apache-2.0
// expect-error: the layer says what its weights or bias hold before training and has none
// expect-error: layer<fc1>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
struct fc1 : ts::linear<8, ts::no_bias, ts::initial_bias<ts::initial::zeros>> {};
#else
struct fc1 : ts::linear<8, ts::initial_bias<ts::initial::zeros>> {};
#endif

struct network : ts::sequential<ts::features<6>, fc1, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
