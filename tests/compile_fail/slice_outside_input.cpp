// SPDX-License-Identifier: Apache-2.0
// expect-error: a slice must lie inside its input
// expect-error: layer<part>
// expect-error: loop_name::channel
// expect-error: found<9>
// expect-error: needed<8>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
struct part : ts::slice<5, 4> {};
#else
struct part : ts::slice<4, 4> {};
#endif

struct network : ts::sequential<ts::features<8>, part, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
