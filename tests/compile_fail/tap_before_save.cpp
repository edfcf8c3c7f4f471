// SPDX-License-Identifier: Apache-2.0
// expect-error: the tap was not saved earlier in the network; put save<> before it
// expect-error: layer<tessera::tap<tessera::add, skip>
// expect-error: found<0>
// expect-error: needed<1>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct skip;

#ifdef TESSERA_EXPECT_ERROR
struct network : ts::sequential<ts::features<10>, ts::tap<ts::add, skip>, ts::save<skip>, ts::relu, ts::cross_entropy> {
};
#else
struct network : ts::sequential<ts::features<10>, ts::save<skip>, ts::relu, ts::tap<ts::add, skip>, ts::cross_entropy> {
};
#endif

inline constexpr auto view = ts::describe<network, 8>();
