// SPDX-License-Identifier: Apache-2.0
// expect-error: a sum cannot be taken apart into summands
// expect-error: found<2>
// expect-error: needed<1>
#include <tessera/layout/typed_redistribution.hpp>

namespace ts = tessera;

using whole = ts::layout<ts::extents<64, 50>, ts::dims<ts::shards<1>, ts::shards<1>>>;
using summands =
    ts::layout<ts::extents<64, 50>, ts::dims<ts::shards<1>, ts::shards<1>>, ts::replicate<1>, ts::partial<2>>;

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::redistribution<whole, summands>;
#else
using by_hand = ts::redistribution<summands, whole>;
#endif

inline constexpr bool ok = by_hand::ok;
