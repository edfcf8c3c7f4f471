// SPDX-License-Identifier: Apache-2.0
// expect-error: two inputs or nodes of the network have the same name
// expect-error: layer<x>
// expect-error: found<2>
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
struct network : ts::dag<ts::input<x, ts::features<16>>, ts::input<y, ts::labels>, ts::node<fc1, ts::linear<10>, x>,
                         ts::node<x, ts::relu, fc1>, ts::node<loss, ts::cross_entropy, fc1, y>> {};
#else
struct network : ts::dag<ts::input<x, ts::features<16>>, ts::input<y, ts::labels>, ts::node<fc1, ts::linear<10>, x>,
                         ts::node<fc2, ts::relu, fc1>, ts::node<loss, ts::cross_entropy, fc2, y>> {};
#endif

inline constexpr auto view = ts::describe<network, 8>();
