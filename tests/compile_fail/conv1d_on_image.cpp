// SPDX-License-Identifier: Apache-2.0
// expect-error: the input has the wrong number of dimensions for this layer
// expect-error: layer<conv1>
// expect-error: found<4>
// expect-error: needed<3>
#include <tessera/net/describe.hpp>
#include <tessera/part/one_dimension.hpp>

namespace ts = tessera;

struct conv1 : ts::conv1d<4, ts::window<3>> {};
#ifdef TESSERA_EXPECT_ERROR
using input = ts::image<3, 8, 8>;
#else
using input = ts::sequence<8, 3>;
#endif

struct network : ts::sequential<input, conv1, ts::flatten, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
