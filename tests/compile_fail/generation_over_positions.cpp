// SPDX-License-Identifier: Apache-2.0
// expect-error: generation makes one position after the other, and a position of this layer's output is made of others
// expect-error: other_positions_are_read
// expect-error: layer<neighbours>
#include <tessera/backend/reference/backend.hpp>
#include <tessera/execute/generator.hpp>
#include <tessera/op/embedding.hpp>
#include <tessera/part/attention.hpp>
#include <tessera/part/one_dimension.hpp>

namespace ts = tessera;

struct words : ts::embedding<50, 8> {};
struct query : ts::linear<8> {};
struct key : ts::linear<8> {};
struct value : ts::linear<8> {};
struct merge : ts::linear<8> {};
struct logits : ts::linear<50> {};
#ifdef TESSERA_EXPECT_ERROR
struct neighbours : ts::conv1d<8, ts::window<3>, ts::padding<1>> {};
#else
struct neighbours : ts::linear<8> {};
#endif
struct network
    : ts::sequential<ts::tokens<16>, words, ts::self_attention<2, query, key, value, merge, ts::softmax<ts::causal>>,
                     neighbours, logits, ts::cross_entropy> {};

void write(ts::generator<network, ts::reference::backend>& writer) { static_cast<void>(writer.generate({{1, 2, 3}})); }
