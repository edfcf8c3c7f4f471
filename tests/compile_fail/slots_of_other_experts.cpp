// SPDX-License-Identifier: Apache-2.0
// expect-error: the table of slots is [N,Experts,Slots]
// expect-error: loop_name::expert
// expect-error: found<6>
// expect-error: needed<4>
#include <tessera/net/dag.hpp>
#include <tessera/net/describe.hpp>
#include <tessera/part/routing.hpp>

namespace ts = tessera;

struct gate : ts::linear<4> {};
struct other : ts::linear<6> {};
struct slots : ts::token_slots<ts::capacity<3>> {};
struct words;
struct gates;
struct others;
struct table;
struct sent;
struct merged;
struct loss;
struct labels;

#ifdef TESSERA_EXPECT_ERROR
using weighed_by = others;
#else
using weighed_by = gates;
#endif

struct network : ts::dag<ts::input<words, ts::sequence<8, 5>>, ts::input<labels, ts::sequence<8, 5>>,
                         ts::node<gates, gate, words>, ts::node<others, other, words>, ts::node<table, slots, gates>,
                         ts::node<sent, ts::dispatch_tokens, words, table>,
                         ts::node<merged, ts::combine_tokens, weighed_by, table, sent>,
                         ts::node<loss, ts::mse_loss, merged, labels>> {};

inline constexpr auto view = ts::describe<network, 8>();
