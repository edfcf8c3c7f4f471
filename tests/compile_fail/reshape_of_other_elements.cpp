// SPDX-License-Identifier: Apache-2.0
// expect-error: a reshape keeps the number of elements of a sample
// expect-error: layer<patches>
// expect-error: found<80>
// expect-error: needed<64>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
struct patches : ts::reshape<16, 5> {};
#else
struct patches : ts::reshape<16, 4> {};
#endif

struct network : ts::sequential<ts::image<1, 8, 8>, patches, ts::flatten, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
