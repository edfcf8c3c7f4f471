// SPDX-License-Identifier: Apache-2.0
// expect-error: there are more devices that share a sequence than heads of attention, which each takes some of; let as many share it as there are heads, or fewer
// expect-error: layer<
// expect-error: found<8>
// expect-error: needed<6>
#include <tessera/op/softmax.hpp>
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
using attention = ts::self_attention<6, query, key, value, merge, ts::softmax<ts::causal>>;
struct network : ts::sequential<ts::tokens<8>, words, ts::residual<attention>, logits, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::ulysses<network, 4, 8>;
#else
using by_hand = ts::ulysses<network, 4, 6>;
#endif

inline constexpr bool good = by_hand::ok;
