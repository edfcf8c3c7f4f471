// SPDX-License-Identifier: Apache-2.0
// expect-error: a transposed convolution has no dilation
// expect-error: layer<up>
// expect-error: found<2>
// expect-error: needed<1>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
struct up : ts::transposed_conv2d<4, ts::window<3>, ts::dilation<2>> {};
#else
struct up : ts::transposed_conv2d<4, ts::window<5>> {};
#endif

struct network : ts::sequential<ts::image<1, 5, 5>, up, ts::flatten, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
