// SPDX-License-Identifier: Apache-2.0
// expect-error: the groups must divide the input and the output channels
// expect-error: layer<conv1>
// expect-error: found<9>
// expect-error: needed<2>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
struct conv1 : ts::conv2d<9, ts::window<3>, ts::groups<2>> {};
#else
struct conv1 : ts::conv2d<10, ts::window<3>, ts::groups<2>> {};
#endif

struct network : ts::sequential<ts::image<6, 8, 8>, conv1, ts::flatten, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
