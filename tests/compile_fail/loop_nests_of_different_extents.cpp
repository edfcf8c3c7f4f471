// SPDX-License-Identifier: Apache-2.0
// expect-error: the inputs of the layer do not go together: an extent that they share differs
// expect-error: layer<tessera::branches<gate
// expect-error: loop_name::sample
// expect-error: found<24>
// expect-error: needed<8>
#include <tessera/net/describe.hpp>
#include <tessera/op/nest/record.hpp>

namespace ts = tessera;

/// Every number of a row times the sum of a row of the second input.
struct gate : ts::operation<gate> {
    static constexpr void body(auto& w) {
        const auto [n, c, r] = w.loops(sample, channel, reduction);
        const auto x = w.input(n, c);
#ifdef TESSERA_EXPECT_ERROR
        const auto y = w.input(r, n);
#else
        const auto y = w.input(n, r);
#endif
        w.output(n, c) = x * w.sum(r, y);
    }
};
struct fc1 : ts::linear<16> {};
struct fc2 : ts::linear<24> {};

struct network
    : ts::sequential<ts::features<4>, ts::branches<gate, ts::branch<fc1>, ts::branch<fc2>>, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
