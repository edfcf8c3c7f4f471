// SPDX-License-Identifier: Apache-2.0
// expect-error: a slice must lie inside its input
// expect-error: layer<inside>
// expect-error: loop_name::width
// expect-error: found<9>
// expect-error: needed<8>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
struct inside : ts::crop<ts::keep<2, 1, 6>, ts::keep<3, 3, 6>> {};
#else
struct inside : ts::crop<ts::keep<2, 1, 6>, ts::keep<3, 2, 6>> {};
#endif

struct network : ts::sequential<ts::image<1, 8, 8>, inside, ts::flatten, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
