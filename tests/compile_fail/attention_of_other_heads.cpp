// SPDX-License-Identifier: Apache-2.0
// expect-error: an attention<> in self_attention<Heads, ...> has as many heads<>
#include <tessera/net/describe.hpp>
#include <tessera/part/attention.hpp>

namespace ts = tessera;

struct query : ts::linear<8> {};
struct key : ts::linear<8> {};
struct value : ts::linear<8> {};
struct merge : ts::linear<8> {};
struct core : ts::attention<ts::heads<2>, ts::causal> {};

#ifdef TESSERA_EXPECT_ERROR
using attention = ts::self_attention<4, query, key, value, merge, core>;
#else
using attention = ts::self_attention<2, query, key, value, merge, core>;
#endif

struct network : ts::sequential<ts::sequence<4, 8>, attention, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
