// SPDX-License-Identifier: Apache-2.0
// expect-error: in a network of any length the parameters are the same at every length
// expect-error: fc
// expect-error: found<48>
// expect-error: needed<96>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct words : ts::embedding<20, 6> {};
struct fc : ts::linear<5> {};

#ifdef TESSERA_EXPECT_ERROR
struct network : ts::sequential<ts::tokens<ts::up_to<16>>, words, ts::flatten, fc, ts::cross_entropy> {};
#else
struct network : ts::sequential<ts::tokens<ts::up_to<16>>, words, fc, ts::cross_entropy> {};
#endif

inline constexpr auto view = ts::describe<network, 8>();
