// SPDX-License-Identifier: Apache-2.0
// expect-error: the padding must be smaller than the kernel, or some outputs see no input
// expect-error: layer<pool1>
// expect-error: loop_name::height
// expect-error: found<2>
// expect-error: needed<2>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
struct pool1 : ts::max_pool<2, ts::padding<2>> {};
#else
struct pool1 : ts::max_pool<2, ts::padding<1>> {};
#endif

struct network : ts::sequential<ts::image<4, 8, 8>, pool1, ts::flatten, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
