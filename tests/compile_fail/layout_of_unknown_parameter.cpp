// SPDX-License-Identifier: Apache-2.0
// expect-error: the layer has no such input or parameter
// expect-error: layer<fc1>
// expect-error: found<2>
#include <tessera/strategy/typed_layout_of.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<50> {};
struct fc2 : ts::linear<10> {};
struct network : ts::sequential<ts::features<8>, fc1, ts::relu, fc2, ts::relu, ts::cross_entropy> {};
using by_hand = ts::strategy_of<network, 2, 64, ts::on<fc1, ts::split<ts::channel, 2>>>;

#ifdef TESSERA_EXPECT_ERROR
using made = ts::parameter_layout_of<network, by_hand, fc1, 2>;
#else
using made = ts::parameter_layout_of<network, by_hand, fc1, 1>;
#endif

inline constexpr bool ok = made::ok;
