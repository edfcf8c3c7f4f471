// SPDX-License-Identifier: Apache-2.0
// expect-error: this dimension cannot be split: its shards would not be boxes of the output
// expect-error: layer<patches>
// expect-error: loop_name::channel
#include <tessera/net/describe.hpp>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

// A shard of the parts' channels would be elements from all over the features.
struct patches : ts::reshape<4, 6> {};
struct network : ts::sequential<ts::features<24>, patches, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using strategy = ts::strategy_of<network, 2, 8, ts::on<patches, ts::split<ts::channel, 2>>>;
#else
using strategy = ts::strategy_of<network, 2, 8, ts::on<patches, ts::split<ts::loop_name::position, 2>>>;
#endif

inline constexpr auto view = strategy::view();
