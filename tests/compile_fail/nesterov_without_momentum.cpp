// SPDX-License-Identifier: Apache-2.0
// expect-error: nesterov_needs_a_momentum
#include <tessera/op/optimizer.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
inline constexpr ts::optimizer how = ts::sgd{.nesterov = true};
#else
inline constexpr ts::optimizer how = ts::sgd{.momentum = 0.9F, .nesterov = true};
#endif
