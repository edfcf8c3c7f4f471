// SPDX-License-Identifier: Apache-2.0
// expect-error: the layer does not take this number of inputs
// expect-error: layer<tessera::branches<tessera::concat
// expect-error: found<1>
// expect-error: needed<2>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct conv1 : ts::conv2d<4, ts::window<1>> {};

#ifdef TESSERA_EXPECT_ERROR
using ways = ts::branches<ts::concat, ts::branch<conv1>>;
#else
using ways = ts::branches<ts::concat, ts::branch<conv1>, ts::branch<>>;
#endif

struct network : ts::sequential<ts::image<4, 8, 8>, ways, ts::flatten, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
