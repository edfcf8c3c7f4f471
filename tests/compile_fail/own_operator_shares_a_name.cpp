// SPDX-License-Identifier: Apache-2.0
// expect-error: two operators of the network have the same name
// expect-error: layer<own
// expect-error: found<2>
// expect-error: needed<1>
#include <tessera/net/describe.hpp>

namespace ts = tessera;

inline constexpr ts::op_record own_record{
#ifdef TESSERA_EXPECT_ERROR
    .name = "relu",
#else
    .name = "own",
#endif
    .infer = [](const ts::op_attributes&, const ts::shape* x, int n) { return ts::op::infer_alike(x, n); },
    .describe = [](const ts::op_attributes&, const ts::shape* x,
                   int) { return ts::op::describe_function(*x, 1, true); },
};
struct own {
    static constexpr ts::op_attributes attributes{.kind = {&own_record}};
};

struct network : ts::sequential<ts::features<8>, ts::relu, own, ts::cross_entropy> {};

inline constexpr auto view = ts::describe<network, 8>();
