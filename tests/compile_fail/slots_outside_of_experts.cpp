// SPDX-License-Identifier: Apache-2.0
// expect-error: with_slots<> stands among the experts of a routed_experts<>, which gives out their slots
// expect-error: layer<expert>
#include <tessera/net/describe.hpp>
#include <tessera/part/routing.hpp>

namespace ts = tessera;

struct gate : ts::linear<4> {};
struct slots : ts::token_slots<ts::capacity<3>> {};
struct expert : ts::routed_linear<5> {};
struct after : ts::linear<5> {};
using router = ts::branch<gate, ts::softmax<>>;

#ifdef TESSERA_EXPECT_ERROR
struct network : ts::sequential<ts::sequence<8, 5>, ts::routed_experts<slots, router, ts::relu>, ts::with_slots<expert>,
                                ts::cross_entropy> {};
#else
struct network : ts::sequential<ts::sequence<8, 5>, ts::routed_experts<slots, router, ts::with_slots<expert>>, after,
                                ts::cross_entropy> {};
#endif

inline constexpr auto view = ts::describe<network, 8>();
