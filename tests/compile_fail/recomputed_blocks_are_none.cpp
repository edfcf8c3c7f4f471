// SPDX-License-Identifier: Apache-2.0
// expect-error: so many blocks are computed again together, at least 1
// expect-error: saying<tessera::recomputes_blocks<0>
// expect-error: found<0>
// expect-error: needed<1>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct network : ts::sequential<ts::features<16>, ts::repeat<4, fc1, ts::tanh>, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<network, 1, 64, ts::recomputes_blocks<0>>;
#else
using by_hand = ts::strategy_of<network, 1, 64, ts::recomputes_blocks<2>>;
#endif

inline constexpr auto view = by_hand::view();
