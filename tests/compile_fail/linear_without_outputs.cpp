// SPDX-License-Identifier: Apache-2.0
// expect-error: an extent, window, stride, dilation or group count must be at least 1
// expect-error: layer<fc1>
// expect-error: found<0>
// expect-error: needed<1>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
struct fc1 : ts::linear<0> {};
#else
struct fc1 : ts::linear<1> {};
#endif

struct network : ts::sequential<ts::features<16>, fc1, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
