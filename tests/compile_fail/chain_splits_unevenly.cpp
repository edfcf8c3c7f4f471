// SPDX-License-Identifier: Apache-2.0
// expect-error: the degree does not divide the extent; say uneven if uneven shards are meant
// expect-error: layer<fc2>
// expect-error: along<tessera::loop_name::channel>
// expect-error: found<4>
// expect-error: needed<10>
#include <tessera/strategy/typed_part.hpp>

#include <tessera/backend/reference/backend.hpp>
#include <tessera/execute/measure/sharded.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<64> {};
struct fc2 : ts::linear<10> {};

#ifdef TESSERA_EXPECT_ERROR
using measured = ts::sharded_on<ts::reference::backend, ts::sequential<fc1, ts::relu, fc2>, ts::extents<64, 32>,
                                ts::on<fc1, ts::split<ts::sample, 2>>, ts::on<fc2, ts::split<ts::channel, 4>>>;
#else
using measured = ts::sharded_on<ts::reference::backend, ts::sequential<fc1, ts::relu, fc2>, ts::extents<64, 32>,
                                ts::on<fc1, ts::split<ts::sample, 2>>, ts::on<fc2, ts::split<ts::channel, 5>>>;
#endif

inline const auto size = sizeof(measured);
