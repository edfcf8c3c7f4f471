// SPDX-License-Identifier: Apache-2.0
// expect-error: have one number for all dimensions, or one for each
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
struct conv1 : ts::conv3d<4, ts::window<3, 3>> {};
#else
struct conv1 : ts::conv3d<4, ts::window<3, 3, 3>> {};
#endif

struct network : ts::sequential<ts::volume<1, 4, 5, 5>, conv1, ts::flatten, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
