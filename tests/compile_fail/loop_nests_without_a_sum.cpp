// SPDX-License-Identifier: Apache-2.0
// expect-error: a_loop_is_in_no_index_of_the_output_sum_over_it
#include <tessera/net/describe.hpp>
#include <tessera/op/nest/record.hpp>

namespace ts = tessera;

struct gate : ts::operation<gate> {
    static constexpr void body(auto& w) {
        const auto [n, c, r] = w.loops(sample, channel, reduction);
        const auto x = w.input(n, c);
        const auto y = w.input(n, r);
#ifdef TESSERA_EXPECT_ERROR
        w.output(n, c) = x * y;
#else
        w.output(n, c) = x * w.sum(r, y);
#endif
    }
};
struct fc1 : ts::linear<16> {};
struct fc2 : ts::linear<24> {};

struct network
    : ts::sequential<ts::features<4>, ts::branches<gate, ts::branch<fc1>, ts::branch<fc2>>, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
