// SPDX-License-Identifier: Apache-2.0
// expect-error: the plan would have more than 2^23 tasks: shards times micro-batches times steps; use fewer of them
// expect-error: layer<network>
// expect-error: found<12582912>
// expect-error: needed<8388608>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<8> {};
struct fc3 : ts::linear<4> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::relu, fc3, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<network, 2, 1048576, ts::micro_batches<1048576>>; // 2 x 6 tasks each
#else
using by_hand = ts::strategy_of<network, 2, 1048576, ts::micro_batches<524288>>;
#endif

inline constexpr bool good = by_hand::ok;
