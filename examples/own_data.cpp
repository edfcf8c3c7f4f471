// SPDX-License-Identifier: Apache-2.0
// Data of one's own: any range whose elements have `inputs`, `labels` and `size`. Here two spirals in the plane, told
// apart by a small network under a step decay of the learning rate.
#include "examples/output.hpp"

#include <tessera/host.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <vector>

namespace ts = tessera;

namespace {

struct hidden1 : ts::linear<32> {};
struct hidden2 : ts::linear<32> {};
struct output : ts::linear<2> {};
struct classifier : ts::sequential<ts::features<2>, hidden1, ts::tanh, hidden2, ts::tanh, output, ts::cross_entropy> {};

// The two hidden layers by output channels, the rest on the first device.
using by_channels = ts::strategy_of<classifier, 2, 64, ts::on<hidden1, ts::split<ts::channel, 2>>,
                                    ts::on<hidden2, ts::split<ts::channel, 2>>>;

/// What a batch has to be.
struct points {
    std::array<float, 2 * 64> inputs;    // x and y of each
    std::array<std::int32_t, 64> labels; // which spiral
    int size = 64;
};

std::vector<points> spirals(int batches, unsigned seed) {
    std::mt19937 random(seed);
    const auto uniform = [&] { return static_cast<float>(random()) / 4294967296.0F; };
    std::vector<points> all(ts::to_size(batches));
    for (points& p : all) {
        for (std::size_t i = 0; i < p.labels.size(); ++i) {
            const int which = static_cast<int>(random() % 2);
            const float radius = 0.2F + 1.8F * uniform();
            const float angle = 3.0F * radius + 3.1415927F * static_cast<float>(which);
            p.labels[i] = which;
            p.inputs[2 * i] = radius * std::cos(angle) + 0.1F * (uniform() - 0.5F);
            p.inputs[2 * i + 1] = radius * std::sin(angle) + 0.1F * (uniform() - 0.5F);
        }
    }
    return all;
}

void train() {
    const std::vector<points> known = spirals(40, 1);
    const std::vector<points> unseen = spirals(10, 2);
    ts::trainer<classifier> trainer(ts::host::devices(2), by_channels{}, ts::adam{.learning_rate = 0.01F});
    trainer.set_learning_rate(ts::step_decay{.rate = 0.01, .factor = 0.3, .every = 1000});
    for (int epoch = 0; epoch < 50; ++epoch) {
        double loss = 0;
        for (const points& p : known) loss += trainer.step(p) / static_cast<double>(known.size());
        if (epoch % 10 == 9) std::printf("epoch %d: loss %.4f\n", epoch + 1, loss);
    }
    const ts::scores s = trainer.evaluate(unseen);
    std::printf("%lld of %lld new points told apart\n", static_cast<long long>(s.correct),
                static_cast<long long>(s.rows));
    std::printf("the first layer's first weight is %.4f\n", static_cast<double>(trainer.weights<hidden1>()[0]));
}

} // namespace

int main() {
    try {
        train();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "own_data: %s\n", e.what());
        return EXIT_FAILURE;
    }
    return output::finish("own_data");
}
