// SPDX-License-Identifier: Apache-2.0
// expect-error: of a gradient that is compressed to its largest elements, one of so many is sent; that number is at least 1
// expect-error: saying<tessera::synchronize<tessera::top_k_gradients<0
// expect-error: found<0>
// expect-error: needed<1>
#include <tessera/schedule/top_k_gradients.hpp>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<4> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand =
    ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>>, ts::synchronize<ts::top_k_gradients<0>>>;
#else
using by_hand =
    ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>>, ts::synchronize<ts::top_k_gradients<1>>>;
#endif

inline constexpr bool good = by_hand::ok;
