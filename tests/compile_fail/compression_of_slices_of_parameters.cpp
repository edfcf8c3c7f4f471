// SPDX-License-Identifier: Apache-2.0
// expect-error: gradients that are compressed go from each device to all: their messages are exchange::all_reduce (1), not sliced (0) as those of ZeRO, ring (2) or by a server (3)
// expect-error: layer<fc3>
// expect-error: found<0>
// expect-error: needed<1>
#include <tessera/schedule/typed_messages.hpp>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<8> {};
struct fc3 : ts::linear<4> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::relu, fc3, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand =
    ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>>,
                    ts::messages<ts::send<ts::exchange::sliced, ts::weight_of<fc3>, ts::bias_of<fc3>,
                                          ts::weight_of<fc2>, ts::bias_of<fc2>, ts::weight_of<fc1>, ts::bias_of<fc1>>,
                                 ts::shards_parameters, ts::compress_gradients<ts::compression::one_bit>>>;
#else
using by_hand =
    ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>>,
                    ts::messages<ts::send<ts::exchange::sliced, ts::weight_of<fc3>, ts::bias_of<fc3>,
                                          ts::weight_of<fc2>, ts::bias_of<fc2>, ts::weight_of<fc1>, ts::bias_of<fc1>>,
                                 ts::shards_parameters>>;
#endif

inline constexpr bool good = by_hand::ok;
