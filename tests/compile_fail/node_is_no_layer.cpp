// SPDX-License-Identifier: Apache-2.0
// expect-error: a part of the network is no layer; inherit publicly from one
// expect-error: layer<fc1>
#include <tessera/net/dag.hpp>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct x;
struct y;
struct fc1;
struct loss;
struct hidden {};

#ifdef TESSERA_EXPECT_ERROR
using layer = hidden;
#else
using layer = ts::linear<10>;
#endif
struct network : ts::dag<ts::input<x, ts::features<16>>, ts::input<y, ts::labels>, ts::node<fc1, layer, x>,
                         ts::node<loss, ts::cross_entropy, fc1, y>> {};

inline constexpr auto view = ts::describe<network, 8>();
