// SPDX-License-Identifier: Apache-2.0
// expect-error: generation is from a network that says what comes next in each sample by itself, and this loss compares
// expect-error: loss_compares_samples
// expect-error: layer<apart>
#include <tessera/backend/reference/backend.hpp>
#include <tessera/execute/generator.hpp>
#include <tessera/net/dag.hpp>
#include <tessera/op/attention.hpp>
#include <tessera/op/contrastive_loss.hpp>
#include <tessera/op/embedding.hpp>

namespace ts = tessera;

struct text;
struct truth;
struct words;
struct query;
struct key;
struct value;
struct mixed;
struct logits;
struct loss;
struct one;
struct other;
struct apart;
#ifdef TESSERA_EXPECT_ERROR
using second_loss = ts::node<apart, ts::contrastive_loss<>, one, other>;
#else
using second_loss = ts::node<apart, ts::mse_loss, one, other>;
#endif
struct network : ts::dag<ts::input<text, ts::tokens<16>>, ts::input<truth, ts::tokens<16>>,
                         ts::node<words, ts::embedding<50, 8>, text>, ts::node<query, ts::linear<8>, words>,
                         ts::node<key, ts::linear<8>, words>, ts::node<value, ts::linear<8>, words>,
                         ts::node<mixed, ts::attention<ts::heads<2>, ts::causal>, query, key, value>,
                         ts::node<logits, ts::linear<50>, mixed>, ts::node<loss, ts::cross_entropy, logits, truth>,
                         ts::node<one, ts::flatten, query>, ts::node<other, ts::flatten, key>, second_loss> {};

void write(ts::generator<network, ts::reference::backend>& writer) { static_cast<void>(writer.generate({{1, 2, 3}})); }
