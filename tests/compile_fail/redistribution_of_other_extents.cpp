// SPDX-License-Identifier: Apache-2.0
// expect-error: a redistribution is between two layouts of one tensor
// expect-error: dimension<1>
// expect-error: found<52>
// expect-error: needed<50>
#include <tessera/layout/typed_redistribution.hpp>

namespace ts = tessera;

using rows = ts::layout<ts::extents<64, 50>, ts::dims<ts::shards<2>, ts::shards<1>>>;

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::redistribution<rows, ts::layout<ts::extents<64, 52>, ts::dims<ts::shards<1>, ts::shards<2>>>>;
#else
using by_hand = ts::redistribution<rows, ts::layout<ts::extents<64, 50>, ts::dims<ts::shards<1>, ts::shards<2>>>>;
#endif

inline constexpr bool ok = by_hand::ok;
