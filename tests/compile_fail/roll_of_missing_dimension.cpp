// SPDX-License-Identifier: Apache-2.0
// expect-error: the input has the wrong number of dimensions for this layer
// expect-error: layer<around>
// expect-error: found<3>
// expect-error: needed<4>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
struct around : ts::roll<ts::shift<3, 2>> {};
#else
struct around : ts::roll<ts::shift<2, 2>> {};
#endif

struct network : ts::sequential<ts::sequence<6, 4>, around, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
