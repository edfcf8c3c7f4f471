// SPDX-License-Identifier: Apache-2.0
// expect-error: the node refers to an input or node that does not come before it
// expect-error: layer<fc2>
// expect-error: missing<fc1>
// expect-error: found<0>
// expect-error: needed<1>
#include <tessera/net/dag.hpp>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct x;
struct y;
struct fc1;
struct fc2;
struct loss;

#ifdef TESSERA_EXPECT_ERROR
struct network : ts::dag<ts::input<x, ts::features<16>>, ts::input<y, ts::labels>, ts::node<fc2, ts::linear<10>, fc1>,
                         ts::node<fc1, ts::linear<10>, x>, ts::node<loss, ts::cross_entropy, fc2, y>> {};
#else
struct network : ts::dag<ts::input<x, ts::features<16>>, ts::input<y, ts::labels>, ts::node<fc1, ts::linear<10>, x>,
                         ts::node<fc2, ts::linear<10>, fc1>, ts::node<loss, ts::cross_entropy, fc2, y>> {};
#endif

inline constexpr auto view = ts::describe<network, 8>();
