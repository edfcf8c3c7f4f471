// SPDX-License-Identifier: Apache-2.0
// expect-error: a worker computes more than 0 FLOP/ns
// expect-error: saying<tessera::synchronize<tessera::ring_all_reduce
// expect-error: found<0>
// expect-error: needed<1>
#include <tessera/schedule/ring_all_reduce.hpp>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<8> {};
struct fc3 : ts::linear<4> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::relu, fc3, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>>,
                                ts::synchronize<ts::ring_all_reduce, ts::predicted_for<0>>>;
#else
using by_hand = ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>>,
                                ts::synchronize<ts::ring_all_reduce, ts::predicted_for<1>>>;
#endif

inline constexpr bool good = by_hand::ok;
