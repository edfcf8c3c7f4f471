// SPDX-License-Identifier: Apache-2.0
// expect-error: the experts must divide the rows of their input, each having as many slots
// expect-error: layer<first>
// expect-error: loop_name::expert
// expect-error: found<8>
// expect-error: needed<3>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
struct first : ts::expert_linear<3, 6> {};
#else
struct first : ts::expert_linear<4, 6> {};
#endif

struct network : ts::sequential<ts::sequence<8, 5>, first, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
