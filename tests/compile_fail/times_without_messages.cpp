// SPDX-License-Identifier: Apache-2.0
// expect-error: sum_at and update_at say when messages of gradients go and what is summed is used, and there are no messages; make some, or leave both ready
// expect-error: layer<fc1>
// expect-error: found<0>
// expect-error: needed<1>
#include <tessera/schedule/typed_messages.hpp>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<4> {};
struct network : ts::sequential<ts::features<4>, fc1, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand =
    ts::strategy_of<network, 2, 8, ts::others<ts::split<ts::sample, 2>>, ts::messages<ts::sum_after_backward>>;
#else
using by_hand = ts::strategy_of<
    network, 2, 8, ts::others<ts::split<ts::sample, 2>>,
    ts::messages<ts::send<ts::exchange::sliced, ts::weight_of<fc1>, ts::bias_of<fc1>>, ts::sum_after_backward>>;
#endif

inline constexpr bool good = by_hand::ok;
