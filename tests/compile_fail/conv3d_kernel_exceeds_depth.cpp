// SPDX-License-Identifier: Apache-2.0
// expect-error: the kernel is larger than its padded input; pad the input or shrink the kernel
// expect-error: layer<conv1>
// expect-error: loop_name::depth
// expect-error: found<7>
// expect-error: needed<4>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
struct conv1 : ts::conv3d<4, ts::window<7, 3, 3>> {};
#else
struct conv1 : ts::conv3d<4, ts::window<7, 3, 3>, ts::padding<2, 0, 0>> {};
#endif

struct network : ts::sequential<ts::volume<1, 4, 5, 5>, conv1, ts::flatten, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
