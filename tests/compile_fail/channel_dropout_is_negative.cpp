// SPDX-License-Identifier: Apache-2.0
// expect-error: a dropout rate must be at least 0 and less than 100 per cent
// expect-error: layer<drop1>
// expect-error: found<-5>
// expect-error: needed<99>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
struct drop1 : ts::channel_dropout<-5> {};
#else
struct drop1 : ts::channel_dropout<5> {};
#endif

struct network : ts::sequential<ts::image<4, 8, 8>, drop1, ts::flatten, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
