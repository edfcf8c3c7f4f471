// SPDX-License-Identifier: Apache-2.0
// expect-error: a shard is placed on a device that the machine does not have
// expect-error: layer<fc3>
// expect-error: found<2>
// expect-error: needed<2>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<8> {};
struct fc3 : ts::linear<4> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::relu, fc3, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<network, 2, 8, ts::stages_from<fc1, fc2, fc3>>;
#else
using by_hand = ts::strategy_of<network, 2, 8, ts::stages_from<fc1, fc3>>;
#endif

inline constexpr bool good = by_hand::ok;
