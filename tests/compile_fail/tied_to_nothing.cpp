// SPDX-License-Identifier: Apache-2.0
// expect-error: the layer whose parameters are tied must come earlier in the network
// expect-error: layer<logits>
// expect-error: found<0>
// expect-error: needed<1>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct words : ts::embedding<100, 8> {};
struct other : ts::embedding<100, 8> {};
struct logits : ts::linear<100, ts::no_bias> {};

#ifdef TESSERA_EXPECT_ERROR
using out = ts::tied<logits, other>;
#else
using out = ts::tied<logits, words>;
#endif

struct network : ts::sequential<ts::tokens<6>, words, out, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
