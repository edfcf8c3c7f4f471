// SPDX-License-Identifier: Apache-2.0
// expect-error: Chimera needs an even number of stages and of micro-batches
// expect-error: saying<tessera::pipeline<tessera::chimera<
// expect-error: found<3>
// expect-error: needed<2>
#include <tessera/schedule/chimera.hpp>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<8> {};
struct fc3 : ts::linear<4> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::relu, fc3, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand =
    ts::strategy_of<network, 2, 8, ts::stages_from<fc1, fc2, fc3>, ts::micro_batches<4>, ts::pipeline<ts::chimera<>>>;
#else
using by_hand =
    ts::strategy_of<network, 2, 8, ts::stages_from<fc1, fc3>, ts::micro_batches<4>, ts::pipeline<ts::chimera<>>>;
#endif

inline constexpr bool good = by_hand::ok;
