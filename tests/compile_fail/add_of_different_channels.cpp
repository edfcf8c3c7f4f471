// SPDX-License-Identifier: Apache-2.0
// expect-error: the inputs of an element-wise layer must have the same shape
// expect-error: layer<tessera::branches<tessera::add
// expect-error: loop_name::channel
// expect-error: found<8>
// expect-error: needed<4>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct conv1 : ts::conv2d<4, ts::window<1>> {};
struct conv2 : ts::conv2d<8, ts::window<1>> {};
struct conv3 : ts::conv2d<4, ts::window<1>> {};

#ifdef TESSERA_EXPECT_ERROR
using ways = ts::branches<ts::add, ts::branch<conv1>, ts::branch<conv2>>;
#else
using ways = ts::branches<ts::add, ts::branch<conv1>, ts::branch<conv3>>;
#endif

struct network : ts::sequential<ts::image<4, 8, 8>, ways, ts::flatten, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
