// SPDX-License-Identifier: Apache-2.0
// expect-error: the heads of keys and values must divide the heads of queries, each being for as many of them
// expect-error: found<3>
// expect-error: needed<8>
#include <tessera/net/describe.hpp>
#include <tessera/part/attention.hpp>

namespace ts = tessera;

struct query : ts::linear<16> {};
struct merge : ts::linear<16> {};

#ifdef TESSERA_EXPECT_ERROR
struct key : ts::linear<6> {};
struct value : ts::linear<6> {};
struct grouped : ts::attention<ts::heads<8>, ts::key_heads<3>, ts::causal> {};
#else
struct key : ts::linear<4> {};
struct value : ts::linear<4> {};
struct grouped : ts::attention<ts::heads<8>, ts::key_heads<2>, ts::causal> {};
#endif

using attention = ts::self_attention<8, query, key, value, merge, grouped>;

struct network : ts::sequential<ts::sequence<4, 16>, attention, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
