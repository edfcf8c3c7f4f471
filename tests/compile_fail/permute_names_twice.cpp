// SPDX-License-Identifier: Apache-2.0
// expect-error: permute names every dimension of its input once, by its number, and the samples (0) first
// expect-error: layer<turn>
// expect-error: loop_name::width
// expect-error: found<2>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
struct turn : ts::permute<0, 2, 1, 2> {};
#else
struct turn : ts::permute<0, 2, 1, 3> {};
#endif

struct network : ts::sequential<ts::image<3, 8, 8>, turn, ts::flatten, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
