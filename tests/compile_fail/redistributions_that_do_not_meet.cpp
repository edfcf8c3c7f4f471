// SPDX-License-Identifier: Apache-2.0
// expect-error: a redistribution begins with another layout than the one before it ends with
#include <tessera/layout/typed_redistribution.hpp>

namespace ts = tessera;

using rows = ts::layout<ts::extents<64, 50>, ts::dims<ts::shards<2>, ts::shards<1>>>;
using columns = ts::layout<ts::extents<64, 50>, ts::dims<ts::shards<1>, ts::shards<2>>>;
using there = ts::redistribution<rows, columns>;

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::composed<there, there>;
#else
using by_hand = ts::composed<there, ts::inverse<there>>;
#endif

inline constexpr bool ok = by_hand::ok;
