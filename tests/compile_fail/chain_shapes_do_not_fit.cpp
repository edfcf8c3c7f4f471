// SPDX-License-Identifier: Apache-2.0
// expect-error: the kernel is larger than its padded input
// expect-error: layer<conv2>
// expect-error: along<tessera::loop_name::height>
// expect-error: found<3>
// expect-error: needed<2>
#include <tessera/strategy/typed_part.hpp>

#include <tessera/backend/reference/backend.hpp>
#include <tessera/execute/measure/sharded.hpp>

namespace ts = tessera;

struct conv1 : ts::conv2d<8, ts::window<3>> {};
struct conv2 : ts::conv2d<16, ts::window<3>> {};

#ifdef TESSERA_EXPECT_ERROR
using measured = ts::sharded_on<ts::reference::backend, ts::sequential<conv1, ts::max_pool<2>, conv2>, //
                                ts::extents<64, 3, 6, 6>>;
#else
using measured = ts::sharded_on<ts::reference::backend, ts::sequential<conv1, ts::max_pool<2>, conv2>, //
                                ts::extents<64, 3, 12, 12>>;
#endif

inline const auto size = sizeof(measured);
