// SPDX-License-Identifier: Apache-2.0
// expect-error: what is predicted needs an input of the network that has no feed<>
// expect-error: feeds<left, truth>
// expect-error: missing<right>
// expect-error: found<1>
// expect-error: needed<2>
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

void answer(ts::trainer<network, ts::reference::backend>& trainer, const std::vector<float>& numbers,
            const std::vector<float>& others, const std::vector<int>& classes) {
#ifdef TESSERA_EXPECT_ERROR
    static_cast<void>(others);
    static_cast<void>(trainer.predict(ts::feed<left>(numbers), ts::feed<truth>(classes)));
#else
    static_cast<void>(classes);
    static_cast<void>(trainer.predict(ts::feed<left>(numbers), ts::feed<right>(others)));
#endif
}
