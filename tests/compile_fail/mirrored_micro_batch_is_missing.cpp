// SPDX-License-Identifier: Apache-2.0
// expect-error: a schedule must say of every micro-batch, or of none, whether it is mirrored and whether it keeps its results
// expect-error: saying<tessera::actions<
// expect-error: found<5>
// expect-error: needed<2>
#include <tessera/schedule/typed_actions.hpp>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<8> {};
struct fc3 : ts::linear<4> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::relu, fc2, ts::relu, fc3, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<
    network, 2, 8, ts::stages_from<fc1, fc3>, ts::micro_batches<2>,
    ts::actions<ts::worker<ts::forward_of<0, 0>, ts::forward_of<0, 1>, ts::backward_of<0, 0>, ts::backward_of<0, 1>>,
                ts::worker<ts::forward_of<1, 0>, ts::backward_of<1, 0>, ts::forward_of<1, 1>, ts::backward_of<1, 1>>,
                ts::mirrored<4>>>;
#else
using by_hand = ts::strategy_of<
    network, 2, 8, ts::stages_from<fc1, fc3>, ts::micro_batches<2>,
    ts::actions<ts::worker<ts::forward_of<0, 0>, ts::forward_of<0, 1>, ts::backward_of<0, 0>, ts::backward_of<0, 1>>,
                ts::worker<ts::forward_of<1, 0>, ts::backward_of<1, 0>, ts::forward_of<1, 1>, ts::backward_of<1, 1>>>>;
#endif

inline constexpr bool good = by_hand::ok;
