// SPDX-License-Identifier: Apache-2.0
// expect-error: the layouts of the inputs and of the output do not go together
// expect-error: layer<fc1>
// expect-error: layout_number<0>
// expect-error: dimension<0>
// expect-error: found<2>
// expect-error: needed<4>
#include <tessera/strategy/typed_fit.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<50> {};

#ifdef TESSERA_EXPECT_ERROR
using fit = ts::fitted<fc1, ts::layout<ts::extents<64, 8>, ts::dims<ts::shards<2>, ts::shards<1>>>,
                       ts::layout<ts::extents<64, 50>, ts::dims<ts::shards<4>, ts::shards<1>>>>;
#else
using fit = ts::fitted<fc1, ts::layout<ts::extents<64, 8>, ts::dims<ts::shards<2>, ts::shards<1>>>,
                       ts::layout<ts::extents<64, 50>, ts::dims<ts::shards<2>, ts::shards<1>>>>;
#endif

inline constexpr bool ok = fit::ok;
