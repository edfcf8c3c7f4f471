// SPDX-License-Identifier: Apache-2.0
// expect-error: a slice must lie inside its input
// expect-error: loop_name::position
// expect-error: found<5>
// expect-error: needed<4>
#include <tessera/net/describe.hpp>
#include <tessera/part/lstm.hpp>

namespace ts = tessera;

struct in : ts::linear<12> {};
struct again : ts::linear<12, ts::no_bias> {};

#ifdef TESSERA_EXPECT_ERROR
using recurrence = ts::lstm<5, ts::lstm_cell<3, in, again>>;
#else
using recurrence = ts::lstm<4, ts::lstm_cell<3, in, again>>;
#endif

struct network : ts::sequential<ts::sequence<4, 8>, recurrence, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
