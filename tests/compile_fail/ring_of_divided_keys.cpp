// SPDX-License-Identifier: Apache-2.0
// expect-error: keys that go round a ring are divided by it as the positions of queries are; leave key_position whole, and shards without replicas
// expect-error: layer<core>
// expect-error: along<tessera::loop_name::key_position>
// expect-error: found<2>
#include <tessera/op/embedding.hpp>
#include <tessera/op/linear.hpp>
#include <tessera/part/attention.hpp>
#include <tessera/part/residual.hpp>
#include <tessera/strategy/typed_strategy.hpp>

namespace ts = tessera;

struct words : ts::embedding<20, 24> {};
struct query : ts::linear<24> {};
struct key : ts::linear<24> {};
struct value : ts::linear<24> {};
struct merge : ts::linear<24> {};
struct logits : ts::linear<20> {};
struct core : ts::attention<ts::heads<6>, ts::causal> {};
struct network
    : ts::sequential<ts::tokens<8>, words, ts::residual<ts::self_attention<6, query, key, value, merge, core>>, logits,
                     ts::cross_entropy> {};

using by_positions = ts::split<ts::loop_name::position, 2>;
#ifdef TESSERA_EXPECT_ERROR
using by_hand = ts::strategy_of<
    network, 4, 4, ts::on<core, by_positions, ts::split<ts::loop_name::key_position, 2>, ts::with_reduction, ts::ring>>;
#else
using by_hand = ts::strategy_of<network, 4, 4, ts::on<core, by_positions, ts::ring>>;
#endif

inline constexpr bool good = by_hand::ok;
