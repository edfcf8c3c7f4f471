// SPDX-License-Identifier: Apache-2.0
// expect-error: the kernel is larger than its padded input; pad the input or shrink the kernel
// expect-error: layer<pool1>
// expect-error: loop_name::depth
// expect-error: found<2>
// expect-error: needed<1>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
struct pool1 : ts::max_pool3d<2> {};
#else
struct pool1 : ts::max_pool3d<2, ts::window<1, 2, 2>, ts::stride<1, 2, 2>> {};
#endif

struct network : ts::sequential<ts::volume<4, 2, 4, 4>, ts::max_pool3d<2>, pool1, ts::flatten, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
