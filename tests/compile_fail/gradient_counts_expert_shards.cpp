// SPDX-License-Identifier: Apache-2.0
// expect-error: the gradient is summed over more shards than contribute to it; replicas hold the same gradient
// expect-error: layer<first>
// expect-error: found<4>
// expect-error: needed<2>
#include <tessera/part/experts.hpp>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct gate : ts::linear<4> {};
struct first : ts::expert_linear<4, 6> {};
struct second : ts::expert_linear<4, 5> {};
struct network : ts::sequential<ts::sequence<8, 5>, ts::mixture_of_experts<2, 2, gate, first, ts::relu, second>,
                                ts::cross_entropy> {};

// Of four shards, two by samples and two by experts, the first two alone contribute to the same weights.
#ifdef TESSERA_EXPECT_ERROR
using by_hand =
    ts::strategy_of<network, 4, 8,
                    ts::on<first, ts::split<ts::sample, 2>, ts::split<ts::loop_name::expert, 2>, ts::gradient_of<4>>>;
#else
using by_hand =
    ts::strategy_of<network, 4, 8,
                    ts::on<first, ts::split<ts::sample, 2>, ts::split<ts::loop_name::expert, 2>, ts::gradient_of<2>>>;
#endif

inline constexpr auto view = by_hand::view();
