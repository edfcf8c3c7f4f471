// SPDX-License-Identifier: Apache-2.0
// expect-error: the slices of a gradient count from 0 to one less than their number
// expect-error: layer<fc1>
// expect-error: found<2>
// expect-error: needed<2>
#include <tessera/schedule/typed_messages.hpp>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<4> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand =
    ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>>,
                    ts::messages<ts::send<ts::exchange::sliced, ts::gradient_slice_of<ts::weight_of<fc1>, 0, 2>,
                                          ts::gradient_slice_of<ts::weight_of<fc1>, 2, 2>, ts::bias_of<fc1>>>>;
#else
using by_hand =
    ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>>,
                    ts::messages<ts::send<ts::exchange::sliced, ts::gradient_slice_of<ts::weight_of<fc1>, 0, 2>,
                                          ts::gradient_slice_of<ts::weight_of<fc1>, 1, 2>, ts::bias_of<fc1>>>>;
#endif

inline constexpr bool good = by_hand::ok;
