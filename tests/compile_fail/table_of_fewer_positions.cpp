// SPDX-License-Identifier: Apache-2.0
// expect-error: the table has fewer rows than the sequence has positions
// expect-error: layer<places>
// expect-error: loop_name::position
// expect-error: found<12>
// expect-error: needed<16>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct words : ts::embedding<20, 6> {};
#ifdef TESSERA_EXPECT_ERROR
struct places : ts::position_embedding<ts::rows<12>> {};
#else
struct places : ts::position_embedding<ts::rows<16>> {};
#endif
struct fc : ts::linear<20> {};

struct network : ts::sequential<ts::tokens<ts::up_to<16>>, words, places, fc, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
