// SPDX-License-Identifier: Apache-2.0
// expect-error: the inputs of the layer do not go together: an extent that they share differs
// expect-error: found<6>
// expect-error: needed<8>
#include <tessera/net/describe.hpp>
#include <tessera/part/attention.hpp>

namespace ts = tessera;

struct query : ts::linear<8> {};
struct value : ts::linear<8> {};
struct merge : ts::linear<8> {};

#ifdef TESSERA_EXPECT_ERROR
struct key : ts::linear<6> {};
#else
struct key : ts::linear<8> {};
#endif

using attention = ts::self_attention<2, query, key, value, merge, ts::softmax<ts::causal>>;

struct network : ts::sequential<ts::sequence<4, 8>, attention, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
