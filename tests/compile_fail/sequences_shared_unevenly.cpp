// SPDX-License-Identifier: Apache-2.0
// expect-error: devices that share a sequence take as many heads of attention each; their number must divide the heads
// expect-error: layer<
// expect-error: found<4>
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
using by_hand = ts::megatron_sp<network, 4, 4>;
#else
using by_hand = ts::megatron_sp<network, 4, 3>;
#endif

inline constexpr bool good = by_hand::ok;
