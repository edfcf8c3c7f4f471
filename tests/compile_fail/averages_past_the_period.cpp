// SPDX-License-Identifier: Apache-2.0
// expect-error: parameters are averaged every so many steps, but the plan ends between two averages; set the strategy's period to a multiple, and take as many steps at a time
// expect-error: layer<fc1>
// expect-error: found<4>
// expect-error: needed<3>
#include <tessera/schedule/parameter_average.hpp>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<8> {};
struct fc3 : ts::linear<4> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::relu, fc3, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>>,
                                ts::synchronize<ts::parameter_average<3>>, ts::steps_per_plan<4>>;
#else
using by_hand = ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>>,
                                ts::synchronize<ts::parameter_average<3>>, ts::steps_per_plan<6>>;
#endif

inline constexpr bool good = by_hand::ok;
