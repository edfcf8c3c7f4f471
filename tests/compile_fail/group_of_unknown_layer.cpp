// SPDX-License-Identifier: Apache-2.0
// expect-error: a group of the optimizer names a layer that the network does not have, or that has no trained parameters
// expect-error: layer<fc3>
#include <tessera/strategy/typed_groups.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<4> {};
struct fc3 : ts::linear<4> {};
struct network : ts::sequential<ts::features<6>, fc1, ts::relu, fc2, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using slow = ts::group<fc1, fc3>;
#else
using slow = ts::group<fc1, fc2>;
#endif

ts::optimizer_for<network> how() {
    return ts::with_groups(ts::adamw{}, slow{.rate = 0.1F}, ts::group<ts::biases_and_norms>{.decay = 0});
}
