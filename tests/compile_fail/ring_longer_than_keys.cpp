// SPDX-License-Identifier: Apache-2.0
// expect-error: a ring has as many pieces of keys as shards of positions, each with a key at least
// expect-error: along<tessera::loop_name::key_position>
// expect-error: found<3>
// expect-error: needed<4>
#include <tessera/net/dag.hpp>
#include <tessera/op/linear.hpp>
#include <tessera/part/attention.hpp>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct asks;
struct told;
struct gold;
struct met;
struct flat;
struct scores;
struct loss;
struct core : ts::attention<ts::heads<2>> {};
using network =
    ts::dag<ts::input<asks, ts::sequence<8, 12>>, ts::input<told, ts::sequence<3, 12>>, ts::input<gold, ts::labels>,
            ts::node<met, core, asks, told, told>, ts::node<flat, ts::flatten, met>,
            ts::node<scores, ts::linear<5>, flat>, ts::node<loss, ts::cross_entropy, scores, gold>>;

#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<network, 4, 4, ts::on<met, ts::split<ts::loop_name::position, 4>, ts::ring>>;
#else
using by_hand = ts::strategy_of<network, 4, 4, ts::on<met, ts::split<ts::loop_name::position, 2>, ts::ring>>;
#endif

inline constexpr bool good = by_hand::ok;
