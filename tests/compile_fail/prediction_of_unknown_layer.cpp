// SPDX-License-Identifier: Apache-2.0
// expect-error: the network has no such layer
// expect-error: layer<fc2>
#include <tessera/backend/reference/backend.hpp>
#include <tessera/execute/trainer.hpp>

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<4> {};
struct network : ts::sequential<ts::features<6>, fc1, ts::cross_entropy> {};

struct batch {
    std::vector<float> inputs;
    std::vector<int> labels;
    int size = 0;
};

void look(ts::trainer<network, ts::reference::backend>& trainer, const batch& samples) {
#ifdef TESSERA_EXPECT_ERROR
    static_cast<void>(trainer.predict<fc2>(samples));
#else
    static_cast<void>(trainer.predict<fc1>(samples));
#endif
}
