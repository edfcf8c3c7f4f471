// SPDX-License-Identifier: Apache-2.0
// expect-error: the node refers to an input or node that does not come before it
// expect-error: missing<z>
#include <tessera/net/dag.hpp>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct x;
struct y;
struct z;
struct top;
struct loss;
struct fc1 : ts::linear<10> {};

#ifdef TESSERA_EXPECT_ERROR
using from = z;
#else
using from = x;
#endif
struct network : ts::dag<ts::input<x, ts::features<16>>, ts::input<y, ts::labels>, ts::chain<top, from, fc1, ts::relu>,
                         ts::node<loss, ts::cross_entropy, top, y>> {};

inline const ts::graph view = ts::describe<network>(8);
