// SPDX-License-Identifier: Apache-2.0
// expect-error: the input has the wrong number of dimensions for this layer; flatten images before a linear layer
// expect-error: layer<conv1>
// expect-error: found<2>
// expect-error: needed<4>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct conv1 : ts::conv2d<4, ts::window<3>> {};

#ifdef TESSERA_EXPECT_ERROR
struct network : ts::sequential<ts::features<64>, conv1, ts::flatten, ts::cross_entropy> {};
#else
struct network : ts::sequential<ts::image<1, 8, 8>, conv1, ts::flatten, ts::cross_entropy> {};
#endif

inline constexpr auto view = ts::describe<network, 8>();
