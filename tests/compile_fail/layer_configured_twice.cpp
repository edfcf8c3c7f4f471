// SPDX-License-Identifier: Apache-2.0
// expect-error: the strategy configures a layer twice
// expect-error: layer<conv1>
// expect-error: found<2>
// expect-error: needed<1>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct conv1 : ts::conv2d<10, ts::window<5>> {};
struct norm1 : ts::batch_norm<> {};
struct fc1 : ts::linear<10> {};
struct network : ts::sequential<ts::image<1, 12, 12>, conv1, norm1, ts::relu, ts::average_pool<2>, ts::flatten, fc1,
                                ts::relu, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand =
    ts::strategy_of<network, 4, 64, ts::on<conv1, ts::split<ts::sample, 2>>, ts::on<conv1, ts::split<ts::channel, 2>>>;
#else
using by_hand = ts::strategy_of<network, 4, 64, ts::on<conv1, ts::split<ts::sample, 2>, ts::split<ts::channel, 2>>>;
#endif

inline constexpr auto view = by_hand::view();
