// SPDX-License-Identifier: Apache-2.0
// expect-error: the kernel is larger than its padded input; pad the input or shrink the kernel
// expect-error: layer<pool1>
// expect-error: loop_name::height
// expect-error: found<3>
// expect-error: needed<2>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
struct pool1 : ts::max_pool<3> {};
#else
struct pool1 : ts::max_pool<2> {};
#endif

struct network : ts::sequential<ts::image<4, 4, 4>, ts::max_pool<2>, pool1, ts::flatten, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
