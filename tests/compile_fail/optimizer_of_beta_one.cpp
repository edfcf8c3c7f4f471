// SPDX-License-Identifier: Apache-2.0
// expect-error: beta2_and_alpha_must_be_at_least_0_and_less_than_1
#include <tessera/op/optimizer.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
inline constexpr float beta2 = 1;
#else
inline constexpr float beta2 = 0.99F;
#endif

inline constexpr ts::optimizer how = ts::adamw{.beta2 = beta2};
