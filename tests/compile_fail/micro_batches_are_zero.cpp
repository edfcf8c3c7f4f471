// SPDX-License-Identifier: Apache-2.0
// expect-error: a batch is cut into 1 micro-batch to as many as it has samples
// expect-error: layer<network>
// expect-error: found<0>
// expect-error: needed<8>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<8> {};
struct fc3 : ts::linear<4> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::relu, fc3, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<network, 2, 8, ts::micro_batches<0>>;
#else
using by_hand = ts::strategy_of<network, 2, 8, ts::micro_batches<4>>;
#endif

inline constexpr bool good = by_hand::ok;
