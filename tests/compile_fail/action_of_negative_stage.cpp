// SPDX-License-Identifier: Apache-2.0
// expect-error: an action is of a stage or micro-batch that the schedule does not have; both count from 0
// expect-error: action_kind::forward, -1, 0>
// expect-error: found<-1>
// expect-error: needed<1>
#include <tessera/schedule/typed_actions.hpp>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<8> {};
struct fc3 : ts::linear<4> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::relu, fc3, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand =
    ts::strategy_of<network, 2, 8,
                    ts::actions<ts::worker<ts::forward_of<-1, 0>, ts::forward_of<0, 0>, ts::backward_of<0, 0>>>>;
#else
using by_hand = ts::strategy_of<network, 2, 8, ts::actions<ts::worker<ts::forward_of<0, 0>, ts::backward_of<0, 0>>>>;
#endif

inline constexpr bool good = by_hand::ok;
