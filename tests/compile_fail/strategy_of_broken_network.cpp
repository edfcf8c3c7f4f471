// SPDX-License-Identifier: Apache-2.0
// expect-error: the input has the wrong number of dimensions for this layer; flatten images before a linear layer
// expect-error: layer<fc2>
// expect-error: found<4>
// expect-error: needed<2>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc2 : ts::linear<10> {};

#ifdef TESSERA_EXPECT_ERROR
struct network : ts::sequential<ts::image<1, 4, 4>, fc2, ts::cross_entropy> {};
#else
struct network : ts::sequential<ts::image<1, 4, 4>, ts::flatten, fc2, ts::cross_entropy> {};
#endif

using by_hand = ts::strategy_of<network, 2, 64, ts::on<fc2, ts::split<ts::sample, 2>>>;
inline constexpr auto view = by_hand::view();
