// SPDX-License-Identifier: Apache-2.0
// expect-error: a part of the network reads a tensor that is not there
// expect-error: found<77>
// expect-error: needed<2>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

// A part of one's own, which states how many operators it has to no one.
struct part {
    static constexpr int build(ts::graph_builder& b, int tensor) {
        const int made = b.add_op(ts::relu::attributes, "relu", ts::key_of<ts::relu>, false, &tensor, 1);
#ifdef TESSERA_EXPECT_ERROR
        return made + 76;
#else
        return made;
#endif
    }
};
struct network : ts::sequential<ts::features<10>, part, ts::tanh, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
