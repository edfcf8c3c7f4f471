// SPDX-License-Identifier: Apache-2.0
// expect-error: an extent, window, stride, dilation or group count must be at least 1
// expect-error: layer<fc1>
// expect-error: found<0>
// expect-error: needed<1>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<10> {};

#ifdef TESSERA_EXPECT_ERROR
struct network : ts::sequential<ts::features<0>, fc1, ts::cross_entropy> {};
#else
struct network : ts::sequential<ts::features<1>, fc1, ts::cross_entropy> {};
#endif

inline constexpr auto view = ts::describe<network, 8>();
