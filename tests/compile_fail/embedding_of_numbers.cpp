// SPDX-License-Identifier: Apache-2.0
// expect-error: the layer takes integers, as an embedding takes tokens, and this input has numbers
// expect-error: layer<words>
// expect-error: found<0>
// expect-error: needed<1>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct words : ts::embedding<100, 8> {};

#ifdef TESSERA_EXPECT_ERROR
struct network : ts::sequential<ts::features<6>, words, ts::cross_entropy> {};
#else
struct network : ts::sequential<ts::tokens<6>, words, ts::cross_entropy> {};
#endif

inline constexpr auto view = ts::describe<network, 8>();
