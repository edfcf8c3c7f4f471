// SPDX-License-Identifier: Apache-2.0
// expect-error: the input has the wrong number of dimensions for this layer
// expect-error: layer<norm>
// expect-error: found<4>
// expect-error: needed<3>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct norm : ts::layer_norm<> {};

#ifdef TESSERA_EXPECT_ERROR
struct network : ts::sequential<ts::image<2, 4, 4>, norm, ts::flatten, ts::cross_entropy> {};
#else
struct network : ts::sequential<ts::image<2, 4, 4>, ts::flatten, norm, ts::cross_entropy> {};
#endif

inline constexpr auto view = ts::describe<network, 8>();
