// SPDX-License-Identifier: Apache-2.0
// expect-error: the degree does not divide the extent; say uneven if uneven shards are meant
// expect-error: layer<expert>
// expect-error: loop_name::expert
// expect-error: found<3>
// expect-error: needed<4>
#include <tessera/part/routing.hpp>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct gate : ts::linear<4> {};
struct slots : ts::token_slots<ts::top<2>, ts::capacity_factor<1.25>> {};
struct expert : ts::routed_linear<5> {};
struct network : ts::sequential<ts::sequence<8, 5>,
                                ts::routed_experts<slots, ts::branch<gate, ts::softmax<>>, ts::with_slots<expert>>,
                                ts::cross_entropy> {};

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<network, 4, 8, ts::on<expert, ts::split<ts::loop_name::expert, 3>>>;
#else
using by_hand = ts::strategy_of<network, 4, 8, ts::on<expert, ts::split<ts::loop_name::expert, 4>>>;
#endif

inline constexpr auto view = by_hand::view();
