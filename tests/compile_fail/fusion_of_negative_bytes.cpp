// SPDX-License-Identifier: Apache-2.0
// expect-error: tensor fusion has a threshold and a cycle of at least 0; 0 bytes: every gradient by itself
// expect-error: saying<tessera::synchronize<tessera::tensor_fusion<-1
// expect-error: found<-1>
// expect-error: needed<0>
#include <tessera/schedule/tensor_fusion.hpp>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<8> {};
struct fc3 : ts::linear<4> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::relu, fc3, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand =
    ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>>, ts::synchronize<ts::tensor_fusion<-1>>>;
#else
using by_hand =
    ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>>, ts::synchronize<ts::tensor_fusion<0>>>;
#endif

inline constexpr bool good = by_hand::ok;
