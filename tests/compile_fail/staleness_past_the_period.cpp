// SPDX-License-Identifier: Apache-2.0
// expect-error: gradients are used 0 or more steps late, and fewer than the plan covers, at whose end all are used; set the strategy's period to more, and take as many steps at a time
// expect-error: found<4>
// expect-error: needed<3>
#include <tessera/schedule/stale_gradients.hpp>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<4> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>>,
                                ts::synchronize<ts::stale_gradients<4>>, ts::steps_per_plan<4>>;
#else
using by_hand = ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>>,
                                ts::synchronize<ts::stale_gradients<3>>, ts::steps_per_plan<4>>;
#endif

inline constexpr bool good = by_hand::ok;
