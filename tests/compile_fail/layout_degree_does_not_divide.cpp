// SPDX-License-Identifier: Apache-2.0
// expect-error: the degree does not divide the extent
// expect-error: dimension<1>
// expect-error: found<3>
// expect-error: needed<50>
#include <tessera/layout/typed_layout.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::layout<ts::extents<64, 50>, ts::dims<ts::shards<1>, ts::shards<3>>>;
#else
using by_hand = ts::layout<ts::extents<64, 50>, ts::dims<ts::shards<1>, ts::uneven_shards<3>>>;
#endif

inline constexpr bool ok = by_hand::ok;
