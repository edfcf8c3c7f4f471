// SPDX-License-Identifier: Apache-2.0
// expect-error: a partial tensor is fed to a layer that is not linear; reduce it before
// expect-error: layer<act1>
// expect-error: found<2>
// expect-error: needed<1>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct act1 : ts::relu {};
struct network : ts::sequential<ts::features<16>, fc1, act1, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<network, 2, 64, ts::on<fc1, ts::split<ts::reduction, 2>>, ts::on<act1, ts::partial<2>>>;
#else
using by_hand =
    ts::strategy_of<network, 2, 64, ts::on<fc1, ts::split<ts::reduction, 2>>, ts::on<act1, ts::split<ts::sample, 2>>>;
#endif

inline constexpr auto view = by_hand::view();
