// SPDX-License-Identifier: Apache-2.0
// expect-error: a residual branch must keep the shape of its input; change the branch or project the shortcut
// expect-error: layer<tessera::residual<tessera::flatten>
// expect-error: found<2>
// expect-error: needed<4>
#include <tessera/net/describe.hpp>
#include <tessera/part/residual.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
struct network : ts::sequential<ts::image<8, 1, 1>, ts::residual<ts::flatten>, ts::flatten, ts::cross_entropy> {};
#else
struct network : ts::sequential<ts::image<8, 1, 1>, ts::residual<ts::relu>, ts::flatten, ts::cross_entropy> {};
#endif

inline constexpr auto view = ts::describe<network, 8>();
