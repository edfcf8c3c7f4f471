// SPDX-License-Identifier: Apache-2.0
// expect-error: a message holds the gradient of a parameter that the network does not have or does not train; make messages of its own gradients
// expect-error: layer<fc2>
// expect-error: found<2>
// expect-error: needed<4>
#include <tessera/schedule/typed_messages.hpp>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<4, ts::frozen> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<
    network, 2, 8, ts::others<ts::split<ts::sample, 2>>,
    ts::messages<ts::send<ts::exchange::sliced, ts::weight_of<fc1>, ts::bias_of<fc1>, ts::weight_of<fc2>>>>;
#else
using by_hand = ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>>,
                                ts::messages<ts::send<ts::exchange::sliced, ts::weight_of<fc1>, ts::bias_of<fc1>>>>;
#endif

inline constexpr bool good = by_hand::ok;
