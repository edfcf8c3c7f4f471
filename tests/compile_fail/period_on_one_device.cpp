// SPDX-License-Identifier: Apache-2.0
// expect-error: with parameters on one device (parameters_on) a plan covers 1 step; store them where shards need them, or take one step at a time
// expect-error: layer<network>
// expect-error: found<2>
// expect-error: needed<1>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<8> {};
struct fc3 : ts::linear<4> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::relu, fc3, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<network, 2, 8, ts::steps_per_plan<2>, ts::parameters_on<0>>;
#else
using by_hand = ts::strategy_of<network, 2, 8, ts::steps_per_plan<1>, ts::parameters_on<0>>;
#endif

inline constexpr bool good = by_hand::ok;
