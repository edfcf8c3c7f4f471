// SPDX-License-Identifier: Apache-2.0
// expect-error: an input of the network has no feed<>; hand in one for each input
// expect-error: feeds<left, truth>
// expect-error: missing<right>
// expect-error: found<2>
// expect-error: needed<3>
#include <tessera/backend/reference/backend.hpp>
#include <tessera/execute/trainer.hpp>
#include <tessera/net/dag.hpp>

namespace ts = tessera;

struct left;
struct right;
struct truth;
struct both;
struct fc;
struct loss;
struct network : ts::dag<ts::input<left, ts::features<4>>, ts::input<right, ts::features<4>>,
                         ts::input<truth, ts::labels>, ts::node<both, ts::add, left, right>,
                         ts::node<fc, ts::linear<3>, both>, ts::node<loss, ts::cross_entropy, fc, truth>> {};

void train(ts::trainer<network, ts::reference::backend>& trainer, const std::vector<float>& numbers,
           const std::vector<float>& others, const std::vector<int>& classes) {
#ifdef TESSERA_EXPECT_ERROR
    trainer.step(ts::named_batch(ts::feed<left>(numbers), ts::feed<truth>(classes)));
#else
    trainer.step(ts::named_batch(ts::feed<left>(numbers), ts::feed<right>(others), ts::feed<truth>(classes)));
#endif
}
