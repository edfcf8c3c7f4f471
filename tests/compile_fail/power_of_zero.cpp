// SPDX-License-Identifier: Apache-2.0
// expect-error: power<0> is 1 everywhere; give power<> another exponent
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
inline constexpr ts::op_attributes attributes = ts::power<0>::attributes;
#else
inline constexpr ts::op_attributes attributes = ts::power<2>::attributes;
#endif
