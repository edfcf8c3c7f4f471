// SPDX-License-Identifier: Apache-2.0
// expect-error: a layout says of every dimension how it is split
// expect-error: found<1>
// expect-error: needed<2>
#include <tessera/layout/typed_layout.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::layout<ts::extents<64, 50>, ts::dims<ts::shards<2>>>;
#else
using by_hand = ts::layout<ts::extents<64, 50>, ts::dims<ts::shards<2>, ts::shards<1>>>;
#endif

inline constexpr bool ok = by_hand::ok;
