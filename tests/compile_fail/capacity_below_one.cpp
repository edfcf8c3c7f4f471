// SPDX-License-Identifier: Apache-2.0
// expect-error: an expert needs room for at least one token of a sample; say capacity<>, capacity_factor<> or no_drop
// expect-error: layer<slots>
// expect-error: loop_name::expert
// expect-error: found<0>
// expect-error: needed<1>
#include <tessera/net/describe.hpp>
#include <tessera/part/routing.hpp>

namespace ts = tessera;

struct gate : ts::linear<4> {};
struct expert : ts::routed_linear<5> {};

#ifdef TESSERA_EXPECT_ERROR
struct slots : ts::token_slots<ts::top<2>, ts::capacity<0>> {};
#else
struct slots : ts::token_slots<ts::top<2>, ts::capacity<1>> {};
#endif

struct network : ts::sequential<ts::sequence<8, 5>,
                                ts::routed_experts<slots, ts::branch<gate, ts::softmax<>>, ts::with_slots<expert>>,
                                ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
