// SPDX-License-Identifier: Apache-2.0
// expect-error: inputs of any length have one longest length, for a batch has one length
// expect-error: found<12>
// expect-error: needed<16>
#include <tessera/net/dag.hpp>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct text;
struct next;
struct other;
struct after;
struct table1;
struct table2;
struct loss1;
struct loss2;

#ifdef TESSERA_EXPECT_ERROR
using other_text = ts::tokens<ts::up_to<12>>;
#else
using other_text = ts::tokens<ts::up_to<16>>;
#endif

struct network
    : ts::dag<ts::input<text, ts::tokens<ts::up_to<16>>>, ts::input<next, ts::tokens<ts::up_to<16>>>,
              ts::input<other, other_text>, ts::input<after, other_text>, ts::node<table1, ts::embedding<20, 6>, text>,
              ts::node<table2, ts::embedding<20, 6>, other>, ts::node<loss1, ts::cross_entropy, table1, next>,
              ts::node<loss2, ts::cross_entropy, table2, after>> {};

inline constexpr auto view = ts::describe<network, 8>();
