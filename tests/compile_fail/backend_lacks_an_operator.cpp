// SPDX-License-Identifier: Apache-2.0
// expect-error: the backend has nothing that computes this operator in this precision
// expect-error: layer<own>
// expect-error: in_precision<
// expect-error: reference::backend
#include <tessera/backend/reference/backend.hpp>
#include <tessera/execute/trainer.hpp>

namespace ts = tessera;

#ifdef TESSERA_EXPECT_ERROR
inline constexpr ts::op_record own_record{
    .name = "own",
    .infer = [](const ts::op_attributes&, const ts::shape* x, int n) { return ts::op::infer_alike(x, n); },
    .describe = [](const ts::op_attributes&, const ts::shape* x,
                   int) { return ts::op::describe_function(*x, 1, false); },
};
struct own {
    static constexpr ts::op_attributes attributes{.kind = {&own_record}};
};
#else
struct own : ts::elementwise<own> {
    static constexpr auto of(auto x) { return 2 * x; }
};
#endif
struct network : ts::sequential<ts::features<8>, own, ts::cross_entropy> {};

void train(const ts::local_devices& devices, const ts::strategy& s) {
    ts::trainer<network, ts::reference::backend> t(devices, s, 4, ts::sgd{});
}
