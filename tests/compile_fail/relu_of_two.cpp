// SPDX-License-Identifier: Apache-2.0
// expect-error: the layer does not take this number of inputs
// expect-error: layer<out>
// expect-error: found<2>
// expect-error: needed<1>
#include <tessera/net/dag.hpp>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct x;
struct y;
struct fc1;
struct out;
struct loss;

#ifdef TESSERA_EXPECT_ERROR
using out_node = ts::node<out, ts::relu, fc1, x>;
#else
using out_node = ts::node<out, ts::relu, fc1>;
#endif

struct network : ts::dag<ts::input<x, ts::features<10>>, ts::input<y, ts::labels>, ts::node<fc1, ts::linear<10>, x>,
                         out_node, ts::node<loss, ts::cross_entropy, out, y>> {};

inline constexpr auto view = ts::describe<network, 8>();
