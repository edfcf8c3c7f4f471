// SPDX-License-Identifier: Apache-2.0
// expect-error: generation is from a network of one input, tokens [N,T] (int32)
// expect-error: generates_from_tokens
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
struct network : ts::sequential<ts::image<1, 8, 8>, ts::flatten, logits, ts::cross_entropy> {};
#else
struct network
    : ts::sequential<ts::tokens<16>, words, ts::self_attention<2, query, key, value, merge, ts::softmax<ts::causal>>,
                     logits, ts::cross_entropy> {};
#endif

void write(ts::generator<network, ts::reference::backend>& writer) { static_cast<void>(writer.generate({{1, 2, 3}})); }
