// SPDX-License-Identifier: Apache-2.0
// expect-error: with_precision takes fp32, tf32 or bf16, and then the network
// expect-error: found<0>
// expect-error: needed<1>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<8> {};
struct fc3 : ts::linear<4> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::relu, fc3, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<network, 2, 8, ts::compute_in<int>>;
#else
using by_hand = ts::strategy_of<network, 2, 8, ts::compute_in<ts::tf32>>;
#endif

inline constexpr bool good = by_hand::ok;
