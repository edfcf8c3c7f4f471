// SPDX-License-Identifier: Apache-2.0
// expect-error: the targets of a loss must have the shape of its predictions
// expect-error: layer<loss>
// expect-error: along<tessera::loop_name::channel>
// expect-error: found<3>
// expect-error: needed<4>
#include <tessera/net/dag.hpp>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct x;
struct y;
struct fc;
struct loss;

#ifdef TESSERA_EXPECT_ERROR
using targets = ts::features<3>;
#else
using targets = ts::features<4>;
#endif

struct network : ts::dag<ts::input<x, ts::features<16>>, ts::input<y, targets>, ts::node<fc, ts::linear<4>, x>,
                         ts::node<loss, ts::mse_loss, fc, y>> {};

inline constexpr auto view = ts::describe<network, 8>();
