// SPDX-License-Identifier: Apache-2.0
// expect-error: every worker of a pipeline, or its stage, needs at least 1 device, and its parameters lie in at least 1 part
// expect-error: saying<tessera::pipeline<tessera::gpipe
// expect-error: found<0>
// expect-error: needed<1>
#include <tessera/schedule/gpipe.hpp>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<8> {};
struct fc3 : ts::linear<4> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::relu, fc3, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<network, 2, 8, ts::stages_from<fc1, fc3>, ts::micro_batches<4>,
                                ts::pipeline<ts::gpipe, ts::devices_each<0>>>;
#else
using by_hand = ts::strategy_of<network, 2, 8, ts::stages_from<fc1, fc3>, ts::micro_batches<4>,
                                ts::pipeline<ts::gpipe, ts::devices_each<1>>>;
#endif

inline constexpr bool good = by_hand::ok;
