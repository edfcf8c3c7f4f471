// SPDX-License-Identifier: Apache-2.0
// expect-error: there are more shards than indices along this dimension
// expect-error: dimension<0>
// expect-error: found<8>
// expect-error: needed<4>
#include <tessera/layout/typed_layout.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::layout<ts::extents<4, 50>, ts::dims<ts::shards<8>, ts::shards<1>>>;
#else
using by_hand = ts::layout<ts::extents<4, 50>, ts::dims<ts::shards<4>, ts::shards<2>>>;
#endif

inline constexpr bool ok = by_hand::ok;
