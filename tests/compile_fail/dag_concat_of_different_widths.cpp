// SPDX-License-Identifier: Apache-2.0
// expect-error: concatenated tensors may differ in their channels only
// expect-error: layer<both>
// expect-error: loop_name::width
// expect-error: found<6>
// expect-error: needed<8>
#include <tessera/net/dag.hpp>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct x;
struct y;
struct narrow;
struct both;
struct loss;

#ifdef TESSERA_EXPECT_ERROR
using narrow_node = ts::node<narrow, ts::conv2d<4, ts::window<1, 3>>, x>;
#else
using narrow_node = ts::node<narrow, ts::conv2d<4, ts::window<1, 3>, ts::padding<0, 1>>, x>;
#endif

struct network : ts::dag<ts::input<x, ts::image<3, 8, 8>>, ts::input<y, ts::label_map<8, 8>>, narrow_node,
                         ts::node<both, ts::concat, x, narrow>, ts::node<loss, ts::cross_entropy, both, y>> {};

inline constexpr auto view = ts::describe<network, 8>();
