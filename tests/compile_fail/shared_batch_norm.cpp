// SPDX-License-Identifier: Apache-2.0
// expect-error: running statistics follow one use of a layer
// expect-error: layer<norm>
// expect-error: found<2>
// expect-error: needed<1>
#include <tessera/net/dag.hpp>
#include <tessera/net/describe.hpp>
#include <tessera/op/fixed_batch_norm.hpp>

namespace ts = tessera;

struct left;
struct right;
struct left_end;
struct right_end;
struct apart;
struct fc : ts::linear<6> {};
#ifdef TESSERA_EXPECT_ERROR
struct norm : ts::batch_norm<> {};
#else
struct norm : ts::fixed_batch_norm<> {};
#endif

struct network : ts::dag<ts::input<left, ts::features<8>>, ts::input<right, ts::features<8>>,
                         ts::chain<left_end, left, ts::shared<fc>, ts::shared<norm>>,
                         ts::chain<right_end, right, ts::shared<fc>, ts::shared<norm>>,
                         ts::node<apart, ts::mse_loss, left_end, right_end>> {};

inline constexpr auto view = ts::describe<network, 8>();
