// SPDX-License-Identifier: Apache-2.0
// expect-error: a network to be trained needs a loss, such as a cross-entropy
// expect-error: layer<network>
// expect-error: found<0>
// expect-error: needed<1>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<10> {};

#ifdef TESSERA_EXPECT_ERROR
struct network : ts::sequential<ts::features<10>, fc1> {};
#else
struct network : ts::sequential<ts::features<10>, fc1, ts::cross_entropy> {};
#endif

inline constexpr auto view = ts::describe<network, 8>();
