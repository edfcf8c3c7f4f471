// SPDX-License-Identifier: Apache-2.0
// expect-error: a split of a coupled dimension needs a reduction inside the layer; say with_reduction if it is meant
// expect-error: layer<tessera::cross_entropy>
// expect-error: loop_name::channel
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
using by_hand = ts::strategy_of<network, 2, 64, ts::on<ts::cross_entropy, ts::split<ts::channel, 2>>>;
#else
using by_hand =
    ts::strategy_of<network, 2, 64, ts::on<ts::cross_entropy, ts::split<ts::channel, 2>, ts::with_reduction>>;
#endif

inline constexpr auto view = by_hand::view();
