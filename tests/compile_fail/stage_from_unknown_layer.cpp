// SPDX-License-Identifier: Apache-2.0
// expect-error: the strategy configures a layer that the network does not have
// expect-error: layer<fc9>
// expect-error: found<0>
// expect-error: needed<1>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<8> {};
struct fc3 : ts::linear<4> {};
struct fc9 : ts::linear<4> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::relu, fc3, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<network, 2, 8, ts::stages_from<fc1, fc9>>;
#else
using by_hand = ts::strategy_of<network, 2, 8, ts::stages_from<fc1, fc3>>;
#endif

inline constexpr bool good = by_hand::ok;
