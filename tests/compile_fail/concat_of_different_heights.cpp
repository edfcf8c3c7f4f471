// SPDX-License-Identifier: Apache-2.0
// expect-error: concatenated tensors may differ in their channels only
// expect-error: layer<tessera::branches<tessera::concat
// expect-error: loop_name::height
// expect-error: found<6>
// expect-error: needed<8>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct conv1 : ts::conv2d<4, ts::window<1>> {};

#ifdef TESSERA_EXPECT_ERROR
struct conv2 : ts::conv2d<8, ts::window<3>, ts::padding<0, 1>> {};
#else
struct conv2 : ts::conv2d<8, ts::window<3>, ts::padding<1, 1>> {};
#endif

struct network : ts::sequential<ts::image<4, 8, 8>, ts::branches<ts::concat, ts::branch<conv1>, ts::branch<conv2>>,
                                ts::flatten, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
