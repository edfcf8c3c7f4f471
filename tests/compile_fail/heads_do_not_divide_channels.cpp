// SPDX-License-Identifier: Apache-2.0
// expect-error: the heads must divide the channels of inputs of rank 3 and be the second extent of an input of rank 4
// expect-error: found<8>
// expect-error: needed<3>
#include <tessera/net/describe.hpp>
#include <tessera/part/attention.hpp>

namespace ts = tessera;

struct query : ts::linear<8> {};
struct key : ts::linear<8> {};
struct value : ts::linear<8> {};
struct merge : ts::linear<8> {};

#ifdef TESSERA_EXPECT_ERROR
using attention = ts::self_attention<3, query, key, value, merge, ts::softmax<>>;
#else
using attention = ts::self_attention<4, query, key, value, merge, ts::softmax<>>;
#endif

struct network : ts::sequential<ts::sequence<4, 8>, attention, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
