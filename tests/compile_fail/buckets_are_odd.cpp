// SPDX-License-Identifier: Apache-2.0
// expect-error: buckets of distances are at least 2, or where attention is not causal an even number, at least 4
// expect-error: found<7>
// expect-error: needed<4>
#include <tessera/net/describe.hpp>
#include <tessera/part/attention.hpp>

namespace ts = tessera;

struct query : ts::linear<8> {};
struct key : ts::linear<8> {};
struct value : ts::linear<8> {};
struct merge : ts::linear<8> {};

#ifdef TESSERA_EXPECT_ERROR
struct biased : ts::attention<ts::heads<2>, ts::position_buckets<7>> {};
#else
struct biased : ts::attention<ts::heads<2>, ts::position_buckets<8>> {};
#endif

using attention = ts::self_attention<2, query, key, value, merge, biased>;

struct network : ts::sequential<ts::sequence<4, 8>, attention, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
