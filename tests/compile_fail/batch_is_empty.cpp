// SPDX-License-Identifier: Apache-2.0
// expect-error: the batch must have at least one sample
// expect-error: layer<fc1>
// expect-error: found<0>
// expect-error: needed<1>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<10> {};
struct network : ts::sequential<ts::features<10>, fc1, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
constexpr ts::index_t batch = 0;
#else
constexpr ts::index_t batch = 1;
#endif

inline constexpr auto view = ts::describe<network, batch>();
