// SPDX-License-Identifier: Apache-2.0
// expect-warning: the loss makes probabilities of logits itself, and is given a softmax's probabilities instead
// expect-warning: masked_cross_entropy
#include <tessera/net/describe.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<10> {};
#ifdef TESSERA_EXPECT_ERROR
struct network : ts::sequential<ts::features<16>, fc1, ts::softmax<>, ts::masked_cross_entropy<>> {};
#else
struct network : ts::sequential<ts::features<16>, fc1, ts::masked_cross_entropy<>> {};
#endif

inline ts::graph described(ts::index_t batch) { return ts::describe<network>(batch); }
