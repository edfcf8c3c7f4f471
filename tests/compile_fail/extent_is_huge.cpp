// SPDX-License-Identifier: Apache-2.0
// expect-error: an extent must be less than 2^31, a tensor have at most 2^48 elements, and an operator at most 2^58
// expect-error: layer<fc1>
// expect-error: found<2147483648>
// expect-error: needed<2147483647>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
struct fc1 : ts::linear<2147483648> {};
#else
struct fc1 : ts::linear<2147483647> {};
#endif

struct network : ts::sequential<ts::features<16>, fc1, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
