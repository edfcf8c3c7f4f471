// SPDX-License-Identifier: Apache-2.0
// expect-error: a residual branch must keep the shape of its input; change the branch or project the shortcut
// expect-error: layer<tessera::residual<conv1, tessera::relu>
// expect-error: loop_name::height
// expect-error: found<6>
// expect-error: needed<8>
#include <tessera/net/describe.hpp>
#include <tessera/part/residual.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
struct conv1 : ts::conv2d<8, ts::window<3>, ts::padding<0, 1>> {};
#else
struct conv1 : ts::conv2d<8, ts::window<3>, ts::padding<1, 1>> {};
#endif

struct network : ts::sequential<ts::image<8, 8, 8>, ts::residual<conv1, ts::relu>, ts::flatten, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
