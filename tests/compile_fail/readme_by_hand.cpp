// SPDX-License-Identifier: Apache-2.0
// The README's wrong strategy, with the words that it shows.
// expect-error: refusal<tessera::rule::degree_does_not_divide
// expect-error: tessera::layer<fc1>
// expect-error: loop_name::channel
// expect-error: found<3>
// expect-error: needed<50>
// expect-error: tessera: the degree does not divide the extent; say uneven if uneven shards are meant
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct conv1 : ts::conv2d<10, ts::window<5>> {};
struct conv2 : ts::conv2d<20, ts::window<5>> {};
struct fc1 : ts::linear<50> {};
struct fc2 : ts::linear<10> {};
struct lenet : ts::sequential<ts::image<1, 28, 28>, conv1, ts::max_pool<2>, ts::relu, conv2, ts::max_pool<2>, ts::relu,
                              ts::flatten, fc1, ts::relu, fc2, ts::cross_entropy> {};

// clang-format off
#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<lenet, 2, 64, ts::on<fc1, ts::split<ts::channel, 3>>>;
#else
using by_hand = ts::strategy_of<lenet, 2, 64, ts::on<fc1, ts::split<ts::channel, 2>>>;
#endif
// clang-format on
inline constexpr bool good = by_hand::ok;
