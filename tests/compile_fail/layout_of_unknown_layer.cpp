// SPDX-License-Identifier: Apache-2.0
// expect-error: the strategy configures a layer that the network does not have
// expect-error: layer<fc3>
#include <tessera/strategy/typed_layout_of.hpp>

namespace ts = tessera;

struct fc3 : ts::linear<10> {};
struct fc1 : ts::linear<50> {};
struct fc2 : ts::linear<10> {};
struct network : ts::sequential<ts::features<8>, fc1, ts::relu, fc2, ts::relu, ts::cross_entropy> {};
using by_hand = ts::strategy_of<network, 2, 64, ts::on<fc1, ts::split<ts::channel, 2>>>;

#ifdef TESSERA_EXPECT_ERROR
using made = ts::layout_of<network, by_hand, fc3>;
#else
using made = ts::layout_of<network, by_hand, fc2>;
#endif

inline constexpr bool ok = made::ok;
