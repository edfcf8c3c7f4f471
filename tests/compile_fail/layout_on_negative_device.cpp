// SPDX-License-Identifier: Apache-2.0
// expect-error: a shard is placed on a device that the machine does not have
// expect-error: found<-1>
#include <tessera/layout/typed_layout.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::layout<ts::extents<64, 50>, ts::dims<ts::shards<2>, ts::shards<1>>, ts::replicate<1>,
                           ts::partial<1>, ts::from_device<0, -1>>;
#else
using by_hand = ts::layout<ts::extents<64, 50>, ts::dims<ts::shards<2>, ts::shards<1>>, ts::replicate<1>,
                           ts::partial<1>, ts::from_device<1, -1>>;
#endif

inline constexpr bool ok = by_hand::ok;
