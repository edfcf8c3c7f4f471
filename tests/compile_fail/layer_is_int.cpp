// SPDX-License-Identifier: Apache-2.0
// expect-error: a part of the network is no layer; inherit publicly from one
// expect-error: layer<int>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<10> {};
#ifdef TESSERA_EXPECT_ERROR
struct network : ts::sequential<ts::features<16>, fc1, int, ts::cross_entropy> {};
#else
struct network : ts::sequential<ts::features<16>, fc1, ts::relu, ts::cross_entropy> {};
#endif

inline constexpr auto view = ts::describe<network, 8>();
