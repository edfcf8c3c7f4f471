// SPDX-License-Identifier: Apache-2.0
// expect-error: this dimension cannot be split: its shards would not be boxes of the output
// expect-error: layer<running_sum>
// expect-error: loop_name::channel
// expect-error: found<2>
// expect-error: needed<1>
#include <tessera/op/opaque.hpp>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

inline constexpr ts::op_record running_sum_record{
    .name = "running_sum",
    .infer = [](const ts::op_attributes&, const ts::shape* x, int) { return ts::detail::infer_rank(*x, 2, 2); },
    .describe = [](const ts::op_attributes&, const ts::shape* x, int) { return ts::op::describe_opaque(x, 1, *x, 1); },
};
struct running_sum {
    static constexpr ts::op_attributes attributes{.kind = {&running_sum_record}};
};
struct network : ts::sequential<ts::features<8>, running_sum, ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<network, 2, 64, ts::on<running_sum, ts::split<ts::channel, 2>>>;
#else
using by_hand = ts::strategy_of<network, 2, 64, ts::on<running_sum, ts::split<ts::sample, 2>>>;
#endif

inline constexpr auto view = by_hand::view();
