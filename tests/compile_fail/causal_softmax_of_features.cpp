// SPDX-License-Identifier: Apache-2.0
// expect-error: the input has the wrong number of dimensions for this layer
// expect-error: found<2>
// expect-error: needed<3>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
struct weights : ts::softmax<ts::causal> {};
#else
struct weights : ts::softmax<> {};
#endif

struct network : ts::sequential<ts::features<8>, weights, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
