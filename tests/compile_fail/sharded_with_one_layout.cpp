// SPDX-License-Identifier: Apache-2.0
// expect-error: an operator in shards takes one layout for each of its inputs, and one more for its output
// expect-error: layer<fc1>
// expect-error: found<1>
// expect-error: needed<2>
#include <tessera/strategy/typed_fit.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<50> {};

#ifdef TESSERA_EXPECT_ERROR
using fit = ts::fitted<fc1, ts::layout<ts::extents<64, 8>, ts::dims<ts::shards<2>, ts::shards<1>>>>;
#else
using fit = ts::fitted<fc1, ts::layout<ts::extents<64, 8>, ts::dims<ts::shards<2>, ts::shards<1>>>,
                       ts::layout<ts::extents<64, 50>, ts::dims<ts::shards<2>, ts::shards<1>>>>;
#endif

inline constexpr bool ok = fit::ok;
