// SPDX-License-Identifier: Apache-2.0
// expect-error: with_precision goes around a network once; say one precision
#include <tessera/net/describe.hpp>
#include <tessera/net/precision.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<10> {};
struct plain : ts::sequential<ts::features<10>, fc1, ts::cross_entropy> {};
struct fast : ts::with_precision<ts::bf16, plain> {};

#ifdef TESSERA_EXPECT_ERROR
inline constexpr auto view = ts::describe<ts::with_precision<ts::tf32, fast>, 4>();
#else
inline constexpr auto view = ts::describe<fast, 4>();
#endif
