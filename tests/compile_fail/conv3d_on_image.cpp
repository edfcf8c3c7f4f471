// SPDX-License-Identifier: Apache-2.0
// expect-error: the input has the wrong number of dimensions for this layer
// expect-error: layer<conv1>
// expect-error: found<4>
// expect-error: needed<5>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct conv1 : ts::conv3d<4, ts::window<3>, ts::padding<1>> {};

#ifdef TESSERA_EXPECT_ERROR
using input = ts::image<1, 5, 5>;
#else
using input = ts::volume<1, 5, 5, 5>;
#endif

struct network : ts::sequential<input, conv1, ts::flatten, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
