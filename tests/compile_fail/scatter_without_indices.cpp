// SPDX-License-Identifier: Apache-2.0
// expect-error: indices are integers [N,K], some for each sample, and in a scatter one for each row of its input
// expect-error: layer<sums>
// expect-error: loop_name::position
// expect-error: found<5>
// expect-error: needed<6>
#include <tessera/net/dag.hpp>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct rows;
struct segment;
struct truth;
struct sums;
struct loss;

#ifdef TESSERA_EXPECT_ERROR
constexpr ts::index_t count = 5;
#else
constexpr ts::index_t count = 6;
#endif

using network =
    ts::dag<ts::input<rows, ts::sequence<6, 3>>, ts::input<segment, ts::tokens<count>>, ts::input<truth, ts::tokens<4>>,
            ts::node<sums, ts::scatter_sum<4>, rows, segment>, ts::node<loss, ts::cross_entropy, sums, truth>>;

inline constexpr auto view = ts::describe<network, 8>();
