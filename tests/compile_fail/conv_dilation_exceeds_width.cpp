// SPDX-License-Identifier: Apache-2.0
// expect-error: the kernel is larger than its padded input; pad the input or shrink the kernel
// expect-error: layer<conv1>
// expect-error: loop_name::width
// expect-error: found<9>
// expect-error: needed<8>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
struct conv1 : ts::conv2d<4, ts::window<3>, ts::dilation<1, 4>> {};
#else
struct conv1 : ts::conv2d<4, ts::window<3>, ts::dilation<1, 3>> {};
#endif

struct network : ts::sequential<ts::image<1, 8, 8>, conv1, ts::flatten, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
