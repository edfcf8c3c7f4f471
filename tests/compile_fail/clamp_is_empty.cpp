// SPDX-License-Identifier: Apache-2.0
// expect-error: clamp<least, most>: the first bound is above the second
#include <tessera/net/describe.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
inline constexpr ts::op_attributes attributes = ts::clamp<1, -1>::attributes;
#else
inline constexpr ts::op_attributes attributes = ts::clamp<-1, 0.5>::attributes;
#endif
