// SPDX-License-Identifier: Apache-2.0
// expect-error: a plan covers 1 to 1024 steps; take more of them in several runs
// expect-error: layer<network>
// expect-error: found<0>
// expect-error: needed<1024>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<8> {};
struct fc3 : ts::linear<4> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::relu, fc3, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<network, 2, 8, ts::steps_per_plan<0>>;
#else
using by_hand = ts::strategy_of<network, 2, 8, ts::steps_per_plan<1>>;
#endif

inline constexpr bool good = by_hand::ok;
