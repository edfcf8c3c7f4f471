// SPDX-License-Identifier: Apache-2.0
// expect-error: the extents that a matrix product sums over must be equal; transpose_first and transpose_second exchange rows and columns
// expect-error: layer<product>
// expect-error: loop_name::reduction
// expect-error: found<4>
// expect-error: needed<6>
#include <tessera/net/dag.hpp>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct x;
struct truth;
struct product;
struct loss;

#ifdef TESSERA_EXPECT_ERROR
using product_node = ts::node<product, ts::matmul<>, x, x>;
#else
using product_node = ts::node<product, ts::matmul<ts::transpose_second>, x, x>;
#endif

struct network : ts::dag<ts::input<x, ts::sequence<4, 6>>, ts::input<truth, ts::tokens<4>>, product_node,
                         ts::node<loss, ts::cross_entropy, product, truth>> {};

inline constexpr auto view = ts::describe<network, 8>();
