// SPDX-License-Identifier: Apache-2.0
// expect-error: two taps have the same name
// expect-error: layer<tessera::relu>
// expect-error: found<2>
// expect-error: needed<1>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct skip;
struct other;

#ifdef TESSERA_EXPECT_ERROR
struct network : ts::sequential<ts::features<10>, ts::save<skip>, ts::tanh, ts::save<skip>, ts::relu,
                                ts::tap<ts::add, skip>, ts::cross_entropy> {};
#else
struct network : ts::sequential<ts::features<10>, ts::save<skip>, ts::tanh, ts::save<other>, ts::relu,
                                ts::tap<ts::add, skip>, ts::cross_entropy> {};
#endif

inline constexpr auto view = ts::describe<network, 8>();
