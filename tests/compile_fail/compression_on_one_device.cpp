// SPDX-License-Identifier: Apache-2.0
// expect-error: gradients are compressed on their way between copies of parameters on several devices; leave parameters where shards need them (no parameters_on), use 2 devices or more, or compress nothing
// expect-error: layer<fc1>
// expect-error: found<0>
// expect-error: needed<-1>
#include <tessera/schedule/quantized_gradients.hpp>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<4> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>>,
                                ts::synchronize<ts::eight_bit_gradients<>>, ts::parameters_on<0>>;
#else
using by_hand =
    ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>>, ts::synchronize<ts::eight_bit_gradients<>>>;
#endif

inline constexpr bool good = by_hand::ok;
