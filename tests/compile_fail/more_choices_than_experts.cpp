// SPDX-License-Identifier: Apache-2.0
// expect-error: a token cannot be sent to more experts than there are
// expect-error: loop_name::expert
// expect-error: found<5>
// expect-error: needed<4>
#include <tessera/net/describe.hpp>
#include <tessera/part/experts.hpp>

namespace ts = tessera;

struct gate : ts::linear<4> {};
struct first : ts::expert_linear<4, 6> {};
struct second : ts::expert_linear<4, 5> {};

#ifdef TESSERA_EXPECT_ERROR
using mixture = ts::mixture_of_experts<2, 5, gate, first, ts::relu, second>;
#else
using mixture = ts::mixture_of_experts<2, 4, gate, first, ts::relu, second>;
#endif

struct network : ts::sequential<ts::sequence<8, 5>, mixture, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
