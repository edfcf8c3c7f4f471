// SPDX-License-Identifier: Apache-2.0
// expect-error: samples are not reduced, and a tensor has at most 5 dimensions: 1 to 4 may be
#include <tessera/net/describe.hpp>
#include <tessera/op/reduce.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
inline constexpr ts::op_attributes attributes = ts::mean_over<0, 2>::attributes;
#else
inline constexpr ts::op_attributes attributes = ts::mean_over<2, 3>::attributes;
#endif
