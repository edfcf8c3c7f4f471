// SPDX-License-Identifier: Apache-2.0
// expect-error: the_trust_coefficient_must_be_above_0
#include <tessera/op/optimizer.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
inline constexpr float trust = 0;
#else
inline constexpr float trust = 0.001F;
#endif

inline constexpr ts::optimizer how = ts::lars{.trust_coefficient = trust};
