// SPDX-License-Identifier: Apache-2.0
// expect-error: the range of a shard must not end before it begins, nor reach outside the tensor
// expect-error: dimension<1>
// expect-error: found<51>
// expect-error: needed<50>
#include <tessera/layout/typed_layout.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
using by_hand =
    ts::layout<ts::extents<64, 50>, ts::dims<ts::shards<1>, ts::shards_over<ts::range<0, 26>, ts::range<24, 51>>>>;
#else
using by_hand =
    ts::layout<ts::extents<64, 50>, ts::dims<ts::shards<1>, ts::shards_over<ts::range<0, 26>, ts::range<24, 50>>>>;
#endif

inline constexpr bool ok = by_hand::ok;
