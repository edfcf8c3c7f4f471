// SPDX-License-Identifier: Apache-2.0
// expect-error: a token cannot be sent to more experts than there are
// expect-error: layer<slots>
// expect-error: loop_name::expert
// expect-error: found<5>
// expect-error: needed<4>
#include <tessera/net/describe.hpp>
#include <tessera/part/routing.hpp>

namespace ts = tessera;

struct gate : ts::linear<4> {};
struct expert : ts::routed_linear<5> {};

#ifdef TESSERA_EXPECT_ERROR
struct slots : ts::token_slots<ts::top<5>, ts::no_drop> {};
#else
struct slots : ts::token_slots<ts::top<4>, ts::no_drop> {};
#endif

struct network : ts::sequential<ts::sequence<8, 5>,
                                ts::routed_experts<slots, ts::branch<gate, ts::softmax<>>, ts::with_slots<expert>>,
                                ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
