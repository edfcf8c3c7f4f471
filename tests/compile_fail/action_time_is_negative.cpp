// SPDX-License-Identifier: Apache-2.0
// expect-error: an action takes a time of at least 0
// expect-error: action_kind::backward, -1, -1>
// expect-error: found<-2>
// expect-error: needed<0>
#include <tessera/schedule/chimera.hpp>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<8> {};
struct fc3 : ts::linear<4> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::relu, fc3, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<network, 2, 8, ts::stages_from<fc1, fc3>, ts::micro_batches<4>,
                                ts::pipeline<ts::chimera<ts::action_takes<1, -2>>>>;
#else
using by_hand = ts::strategy_of<network, 2, 8, ts::stages_from<fc1, fc3>, ts::micro_batches<4>,
                                ts::pipeline<ts::chimera<ts::action_takes<1, 2>>>>;
#endif

inline constexpr bool good = by_hand::ok;
