// SPDX-License-Identifier: Apache-2.0
// expect-error: there are more shards than indices along this dimension
// expect-error: layer<core>
// expect-error: found<10>
// expect-error: needed<8>
#include <tessera/op/embedding.hpp>
#include <tessera/op/linear.hpp>
#include <tessera/part/attention.hpp>
#include <tessera/part/residual.hpp>
#include <tessera/search/by_hand/sequence_parallel.hpp>

namespace ts = tessera;

struct words : ts::embedding<20, 24> {};
struct query : ts::linear<24> {};
struct key : ts::linear<24> {};
struct value : ts::linear<24> {};
struct merge : ts::linear<24> {};
struct logits : ts::linear<20> {};
struct core : ts::attention<ts::heads<6>, ts::causal> {};
struct network
    : ts::sequential<ts::tokens<8>, words, ts::residual<ts::self_attention<6, query, key, value, merge, core>>, logits,
                     ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::zigzag_attention<network, 4, 5>; // of ten pieces
#else
using by_hand = ts::zigzag_attention<network, 4, 4>;
#endif

inline constexpr bool good = by_hand::ok;
