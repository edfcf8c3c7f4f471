// SPDX-License-Identifier: Apache-2.0
// expect-error: gradients that are used some steps late travel in messages whose updates wait for the backward pass (update_at), and parameters lie whole on their devices (no shards_parameters); make messages, for example with schedule::stale_gradients()
// expect-error: layer<fc1>
// expect-error: found<1>
// expect-error: needed<0>
#include <tessera/schedule/typed_messages.hpp>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<4> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>>,
                                ts::messages<ts::send<ts::exchange::all_reduce, ts::weight_of<fc1>, ts::bias_of<fc1>,
                                                      ts::weight_of<fc2>, ts::bias_of<fc2>>,
                                             ts::bounded_staleness<1>>,
                                ts::steps_per_plan<4>>;
#else
using by_hand = ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>>,
                                ts::messages<ts::send<ts::exchange::all_reduce, ts::weight_of<fc1>, ts::bias_of<fc1>,
                                                      ts::weight_of<fc2>, ts::bias_of<fc2>>,
                                             ts::update_after_backward, ts::bounded_staleness<1>>,
                                ts::steps_per_plan<4>>;
#endif

inline constexpr bool good = by_hand::ok;
