// SPDX-License-Identifier: Apache-2.0
// expect-error: generation makes one token after the other, and this attention sees those that come later
// expect-error: attention_sees_later_positions
// expect-error: tessera::attention<
#include <tessera/backend/reference/backend.hpp>
#include <tessera/execute/generator.hpp>
#include <tessera/op/embedding.hpp>
#include <tessera/part/attention.hpp>

namespace ts = tessera;

struct words : ts::embedding<50, 8> {};
struct query : ts::linear<8> {};
struct key : ts::linear<8> {};
struct value : ts::linear<8> {};
struct merge : ts::linear<8> {};
struct logits : ts::linear<50> {};
#ifdef TESSERA_EXPECT_ERROR
using weights = ts::softmax<>;
#else
using weights = ts::softmax<ts::causal>;
#endif
struct network : ts::sequential<ts::tokens<16>, words, ts::self_attention<2, query, key, value, merge, weights>, logits,
                                ts::cross_entropy> {};

void write(ts::generator<network, ts::reference::backend>& writer) { static_cast<void>(writer.generate({{1, 2, 3}})); }
