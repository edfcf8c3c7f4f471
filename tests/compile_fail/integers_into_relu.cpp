// SPDX-License-Identifier: Apache-2.0
// expect-error: the layer computes with floating-point numbers and this input has integers
// expect-error: layer<wrong>
// expect-error: found<1>
// expect-error: needed<0>
#include <tessera/net/dag.hpp>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct x;
struct y;
struct classes;
struct wrong;
struct loss;

#ifdef TESSERA_EXPECT_ERROR
using wrong_node = ts::node<wrong, ts::relu, y>;
#else
using wrong_node = ts::node<wrong, ts::relu, classes>;
#endif

struct network : ts::dag<ts::input<x, ts::image<3, 8, 8>>, ts::input<y, ts::label_map<8, 8>>,
                         ts::node<classes, ts::conv2d<5, ts::window<1>>, x>, wrong_node,
                         ts::node<loss, ts::cross_entropy, classes, y>> {};

inline constexpr auto view = ts::describe<network, 8>();
