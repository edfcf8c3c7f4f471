// SPDX-License-Identifier: Apache-2.0
// expect-error: the input has the wrong number of dimensions for this layer; flatten images before a linear layer
// expect-error: layer<fc1>
// expect-error: found<4>
// expect-error: needed<2>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<10> {};

#ifdef TESSERA_EXPECT_ERROR
struct network : ts::sequential<ts::image<1, 8, 8>, fc1, ts::cross_entropy> {};
#else
struct network : ts::sequential<ts::image<1, 8, 8>, ts::flatten, fc1, ts::cross_entropy> {};
#endif

inline constexpr auto view = ts::describe<network, 8>();
