// SPDX-License-Identifier: Apache-2.0
// expect-error: a broadcast repeats dimensions of extent 1
// expect-error: layer<repeated>
// expect-error: loop_name::channel
// expect-error: found<6>
// expect-error: needed<12>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
struct repeated : ts::broadcast_to<5, 12> {};
#else
struct repeated : ts::broadcast_to<5, 6> {};
#endif

struct network : ts::sequential<ts::features<6>, repeated, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
