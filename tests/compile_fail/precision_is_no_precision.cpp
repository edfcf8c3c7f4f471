// SPDX-License-Identifier: Apache-2.0
// expect-error: with_precision takes fp32, tf32 or bf16, and then the network
#include <tessera/net/describe.hpp>
#include <tessera/net/precision.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<10> {};
struct network : ts::sequential<ts::features<10>, fc1, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
inline constexpr auto view = ts::describe<ts::with_precision<float, network>, 4>();
#else
inline constexpr auto view = ts::describe<ts::with_precision<ts::tf32, network>, 4>();
#endif
