// SPDX-License-Identifier: Apache-2.0
// expect-error: the loss is of the whole batch together (it divides by what its rows weigh, or compares rows with each other), and a micro-batch knows its own rows alone; use 1 micro-batch, and split samples over devices instead
// expect-error: layer<loss>
// expect-error: found<2>
// expect-error: needed<1>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<4> {};
struct loss : ts::masked_cross_entropy<> {};
struct network : ts::sequential<ts::features<4>, fc1, loss> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<network, 2, 8, ts::on<fc1, ts::split<ts::sample, 2>>, ts::micro_batches<2>>;
#else
using by_hand = ts::strategy_of<network, 2, 8, ts::on<fc1, ts::split<ts::sample, 2>>,
                                ts::on<loss, ts::split<ts::sample, 2>, ts::with_reduction>>;
#endif

inline constexpr bool good = by_hand::ok;
