// SPDX-License-Identifier: Apache-2.0
// expect-error: messages hold a slice of a gradient twice; each slice goes once
// expect-error: layer<fc1>
// expect-error: found<0>
// expect-error: needed<1>
#include <tessera/schedule/typed_messages.hpp>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<4> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>>,
                                ts::messages<ts::send<ts::exchange::sliced, ts::weight_of<fc1>, ts::bias_of<fc1>>,
                                             ts::send_to_server<1, ts::bias_of<fc1>>>>;
#else
using by_hand = ts::strategy_of<
    network, 2, 8, ts::others<ts::split<ts::sample, 2>>,
    ts::messages<ts::send<ts::exchange::sliced, ts::weight_of<fc1>>, ts::send_to_server<1, ts::bias_of<fc1>>>>;
#endif

inline constexpr bool good = by_hand::ok;
