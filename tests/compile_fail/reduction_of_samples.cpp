// SPDX-License-Identifier: Apache-2.0
// expect-error: samples are not reduced, and a tensor has at most 4 dimensions: 1 to 3 may be
#include <tessera/net/describe.hpp>
#include <tessera/op/reduce.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};

#ifdef TESSERA_EXPECT_ERROR
struct network : ts::sequential<ts::image<3, 6, 6>, ts::mean_over<0, 2>, fc1, ts::cross_entropy> {};
#else
struct network : ts::sequential<ts::image<3, 6, 6>, ts::mean_over<2, 3>, fc1, ts::cross_entropy> {};
#endif

inline constexpr auto view = ts::describe<network, 8>();
