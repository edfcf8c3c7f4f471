// SPDX-License-Identifier: Apache-2.0
// expect-error: backward begins with a loss, which has just been computed; it is not computed again, so leave it out
// expect-error: layer<head>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct act1 : ts::gelu {};
struct fc2 : ts::linear<4> {};
struct head : ts::cross_entropy {};
struct network : ts::sequential<ts::features<16>, fc1, act1, fc2, head> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<network, 1, 64, ts::recomputes<act1, head>>;
#else
using by_hand = ts::strategy_of<network, 1, 64, ts::recomputes<act1>>;
#endif

inline constexpr auto view = by_hand::view();
