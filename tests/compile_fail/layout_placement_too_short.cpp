// SPDX-License-Identifier: Apache-2.0
// expect-error: the list of devices must name one device for every shard
// expect-error: found<3>
// expect-error: needed<4>
#include <tessera/layout/typed_layout.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::layout<ts::extents<64, 50>, ts::dims<ts::shards<2>, ts::shards<2>>, ts::replicate<1>,
                           ts::partial<1>, ts::place<0, 1, 2>>;
#else
using by_hand = ts::layout<ts::extents<64, 50>, ts::dims<ts::shards<2>, ts::shards<2>>, ts::replicate<1>,
                           ts::partial<1>, ts::place<0, 1, 2, 3>>;
#endif

inline constexpr bool ok = by_hand::ok;
