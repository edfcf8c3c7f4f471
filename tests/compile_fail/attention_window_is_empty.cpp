// SPDX-License-Identifier: Apache-2.0
// expect-error: an extent, window, stride, dilation or group count must be at least 1
// expect-error: found<0>
// expect-error: needed<1>
#include <tessera/net/describe.hpp>
#include <tessera/part/attention.hpp>

namespace ts = tessera;

struct query : ts::linear<8> {};
struct key : ts::linear<8> {};
struct value : ts::linear<8> {};
struct merge : ts::linear<8> {};

#ifdef TESSERA_EXPECT_ERROR
struct windowed : ts::attention<ts::heads<2>, ts::sliding_window<0>> {};
#else
struct windowed : ts::attention<ts::heads<2>, ts::sliding_window<1>> {};
#endif

using attention = ts::self_attention<2, query, key, value, merge, windowed>;

struct network : ts::sequential<ts::sequence<4, 8>, attention, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
