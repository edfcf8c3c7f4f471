// SPDX-License-Identifier: Apache-2.0
// expect-error: an extent, window, stride, dilation or group count must be at least 1
// expect-error: layer<conv1>
// expect-error: loop_name::width
// expect-error: found<0>
// expect-error: needed<1>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
struct conv1 : ts::conv2d<4, ts::window<3>, ts::stride<1, 0>> {};
#else
struct conv1 : ts::conv2d<4, ts::window<3>, ts::stride<1, 2>> {};
#endif

struct network : ts::sequential<ts::image<1, 8, 8>, conv1, ts::flatten, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
