// SPDX-License-Identifier: Apache-2.0
// expect-error: layers that share a parameter need it in the same shape
// expect-error: layer<logits>
// expect-error: found<792>
// expect-error: needed<800>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct words : ts::embedding<100, 8> {};

#ifdef TESSERA_EXPECT_ERROR
struct logits : ts::linear<99, ts::no_bias> {};
#else
struct logits : ts::linear<100, ts::no_bias> {};
#endif

struct network : ts::sequential<ts::tokens<6>, words, ts::tied<logits, words>, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
