// SPDX-License-Identifier: Apache-2.0
// expect-error: only what has keys and values and no table of buckets, attention, lets them go round a ring
// expect-error: layer<merge>
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
using by_hand = ts::strategy_of<network, 2, 4, ts::on<merge, by_positions, ts::ring>>;
#else
using by_hand = ts::strategy_of<network, 2, 4, ts::on<core, by_positions, ts::ring>>;
#endif

inline constexpr bool good = by_hand::ok;
