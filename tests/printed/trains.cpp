// SPDX-License-Identifier: Apache-2.0
// The header that the planner prints of the zoo's LeNet-5 is that network, and trains to the same numbers.
#include "lenet5.hpp"

namespace printed {
using net = ::lenet5;
}

#include "examples/networks.hpp"
#include "support/same_network.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/net/describe.hpp"
#include "tessera/search/by_hand/baselines.hpp"

#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

namespace {

namespace ts = tessera;

constexpr ts::index_t samples = 6;

template <class Net>
std::vector<double> losses() {
    ts::trainer<Net, ts::reference::backend> t(ts::local_devices(2),
                                               ts::search::data_parallel(ts::describe<Net>(samples).view(), 2), samples,
                                               ts::sgd{.learning_rate = 0.05F, .momentum = 0.9F});
    std::vector<float> images(samples * 28 * 28);
    std::vector<std::int32_t> labels(samples);
    for (std::size_t i = 0; i < images.size(); ++i) {
        images[i] = static_cast<float>(i * 37 % 101) / 101;
    }
    for (std::size_t i = 0; i < labels.size(); ++i) {
        labels[i] = static_cast<std::int32_t>(i * 3 % 10);
    }
    std::vector<double> all;
    for (int step = 0; step < 3; ++step) {
        const ts::input_data inputs[] = {std::span<const float>(images), std::span<const std::int32_t>(labels)};
        all.push_back(t.step(std::span<const ts::input_data>(inputs)));
    }
    return all;
}

} // namespace

int main() {
    const std::string differs = test_support::difference_of(ts::describe<printed::net>(samples).view(),
                                                            ts::describe<networks::lenet5>(samples).view());
    if (!differs.empty()) {
        std::printf("the printed network differs: %s\n", differs.c_str());
        return EXIT_FAILURE;
    }
    const std::vector<double> printed = losses<printed::net>();
    const std::vector<double> typed = losses<networks::lenet5>();
    std::printf("%.9g %.9g %.9g\n", printed[0], printed[1], printed[2]);
    return printed == typed && printed[0] != printed[2] ? EXIT_SUCCESS : EXIT_FAILURE;
}
