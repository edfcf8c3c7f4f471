// SPDX-License-Identifier: Apache-2.0
// expect-error: the_learning_rate_must_be_at_least_0
#include <tessera/op/optimizer.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
inline constexpr float rate = -0.1F;
#else
inline constexpr float rate = 0.1F;
#endif

inline constexpr ts::optimizer how = ts::sgd{.learning_rate = rate, .momentum = 0.9F};
