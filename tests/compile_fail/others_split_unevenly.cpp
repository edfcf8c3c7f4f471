// SPDX-License-Identifier: Apache-2.0
// expect-error: the degree does not divide the extent; say uneven if uneven shards are meant
// expect-error: layer<fc1>
// expect-error: loop_name::sample
// expect-error: found<3>
// expect-error: needed<8>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<8> {};
struct fc3 : ts::linear<4> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::relu, fc3, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<network, 3, 8, ts::others<ts::split<ts::sample, 3>>>;
#else
using by_hand = ts::strategy_of<network, 3, 8, ts::others<ts::split<ts::sample, 3>, ts::uneven>>;
#endif

inline constexpr bool good = by_hand::ok;
