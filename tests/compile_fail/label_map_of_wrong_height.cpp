// SPDX-License-Identifier: Apache-2.0
// expect-error: the labels must be integers with the shape of the logits without their classes
// expect-error: layer<loss>
// expect-error: found<4>
// expect-error: needed<8>
#include <tessera/net/dag.hpp>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct x;
struct y;
struct classes;
struct loss;

#ifdef TESSERA_EXPECT_ERROR
using map = ts::label_map<4, 8>;
#else
using map = ts::label_map<8, 8>;
#endif

struct network
    : ts::dag<ts::input<x, ts::image<3, 8, 8>>, ts::input<y, map>, ts::node<classes, ts::conv2d<5, ts::window<1>>, x>,
              ts::node<loss, ts::cross_entropy, classes, y>> {};

inline constexpr auto view = ts::describe<network, 8>();
