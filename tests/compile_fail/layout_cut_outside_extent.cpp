// SPDX-License-Identifier: Apache-2.0
// expect-error: cut points must increase strictly and lie inside the extent
// expect-error: dimension<0>
// expect-error: found<64>
// expect-error: needed<64>
#include <tessera/layout/typed_layout.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::layout<ts::extents<64, 50>, ts::dims<ts::shards_at<16, 64>, ts::shards<1>>>;
#else
using by_hand = ts::layout<ts::extents<64, 50>, ts::dims<ts::shards_at<16, 63>, ts::shards<1>>>;
#endif

inline constexpr bool ok = by_hand::ok;
