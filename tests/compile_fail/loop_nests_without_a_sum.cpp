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

inline constexpr ts::nests::program program = ts::nests::detail::make_program<gate>(0);
