// SPDX-License-Identifier: Apache-2.0
// expect-error: cut points must increase strictly and lie inside the extent, one fewer than shards
// expect-error: layer<conv1>
// expect-error: loop_name::sample
// expect-error: found<64>
// expect-error: needed<64>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct conv1 : ts::conv2d<10, ts::window<5>> {};
struct norm1 : ts::batch_norm<> {};
struct fc1 : ts::linear<10> {};
struct network : ts::sequential<ts::image<1, 12, 12>, conv1, norm1, ts::relu, ts::average_pool<2>, ts::flatten, fc1,
                                ts::relu, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<network, 2, 64, ts::on<conv1, ts::cut<ts::sample, 64>>>;
#else
using by_hand = ts::strategy_of<network, 2, 64, ts::on<conv1, ts::cut<ts::sample, 63>>>;
#endif

inline constexpr auto view = by_hand::view();
