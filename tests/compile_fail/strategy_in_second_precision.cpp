// SPDX-License-Identifier: Apache-2.0
// expect-error: with_precision goes around a network once; say one precision
// expect-error: found<2>
// expect-error: needed<1>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<8> {};
struct fc3 : ts::linear<4> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::relu, fc3, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<ts::with_precision<ts::bf16, network>, 2, 8, ts::compute_in<ts::bf16>>;
#else
using by_hand = ts::strategy_of<network, 2, 8, ts::compute_in<ts::bf16>>;
#endif

inline constexpr bool good = by_hand::ok;
