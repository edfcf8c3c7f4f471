// SPDX-License-Identifier: Apache-2.0
// expect-error: a feed names something that is no input of the network
// expect-error: feeds<image>
// expect-error: inputs_are<tessera::features<4>, tessera::labels>
#include <tessera/backend/reference/backend.hpp>
#include <tessera/execute/trainer.hpp>

namespace ts = tessera;

struct fc : ts::linear<3> {};
struct network : ts::sequential<ts::features<4>, fc, ts::cross_entropy> {};
struct image;

void train(ts::trainer<network, ts::reference::backend>& trainer, const std::vector<float>& numbers,
           const std::vector<int>& classes) {
#ifdef TESSERA_EXPECT_ERROR
    trainer.step(ts::named_batch(ts::feed<image>(numbers), ts::feed<ts::labels>(classes)));
#else
    trainer.step(ts::named_batch(ts::feed<ts::features<4>>(numbers), ts::feed<ts::labels>(classes)));
#endif
}
