// SPDX-License-Identifier: Apache-2.0
// expect-error: the padding of a transposed convolution takes away its whole output; pad less
// expect-error: layer<up>
// expect-error: loop_name::width
// expect-error: needed<1>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
struct up : ts::transposed_conv2d<4, ts::window<3>, ts::stride<2>, ts::padding<1, 2>> {};
#else
struct up : ts::transposed_conv2d<4, ts::window<3>, ts::stride<2>, ts::padding<1, 1>> {};
#endif

struct network : ts::sequential<ts::image<1, 5, 1>, up, ts::flatten, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
