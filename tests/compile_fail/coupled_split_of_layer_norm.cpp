// SPDX-License-Identifier: Apache-2.0
// expect-error: a split of a coupled dimension needs a reduction inside the layer; say with_reduction if it is meant
// expect-error: layer<norm>
// expect-error: loop_name::channel
// expect-error: found<2>
// expect-error: needed<1>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct norm : ts::layer_norm<> {};
struct network : ts::sequential<ts::sequence<4, 8>, norm, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<network, 2, 64, ts::on<norm, ts::split<ts::channel, 2>>>;
#else
using by_hand = ts::strategy_of<network, 2, 64, ts::on<norm, ts::split<ts::loop_name::position, 2>>>;
#endif

inline constexpr auto view = by_hand::view();
