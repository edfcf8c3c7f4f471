// SPDX-License-Identifier: Apache-2.0
// expect-error: with_precision goes around a whole network; its parts compute in one precision
// expect-error: fc1
#include <tessera/net/describe.hpp>
#include <tessera/net/precision.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<10> {};

#ifdef TESSERA_EXPECT_ERROR
struct network : ts::sequential<ts::features<10>, ts::with_precision<ts::bf16, fc1>, ts::cross_entropy> {};
#else
struct plain : ts::sequential<ts::features<10>, fc1, ts::cross_entropy> {};
struct network : ts::with_precision<ts::bf16, plain> {};
#endif

inline constexpr auto view = ts::describe<network, 4>();
