// SPDX-License-Identifier: Apache-2.0
#include "network.hpp"

namespace user {

std::vector<double> train() {
    ts::trainer<network> trainer(ts::host::devices(2), halves{}, ts::adam{.learning_rate = 0.01F});
    std::vector<double> losses;
    for (unsigned step = 0; step < 20; ++step) {
        losses.push_back(trainer.step(made_batch(step)));
    }
    return losses;
}

} // namespace user
