// SPDX-License-Identifier: Apache-2.0
// Trains LeNet-5 over the ranks of an MPI program, each a device: mpirun -n 2 over_ranks [STEPS]
// Every rank takes the same steps with the same batches; rank 0 tells.
#include "examples/networks.hpp"

#include <tessera/host.hpp>
#include <tessera/ranks/mpi.hpp>
#include <tessera/search/by_hand/baselines.hpp>

#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

namespace ts = tessera;

namespace {

constexpr ts::index_t batch = 32;
constexpr ts::index_t pixels = 28 * 28;

/// Pictures of bars, the label is where: a function of the step, so that every rank has the same.
struct pictures {
    std::vector<float> numbers = std::vector<float>(ts::to_size(batch * pixels));
    std::vector<std::int32_t> labels = std::vector<std::int32_t>(ts::to_size(batch));

    explicit pictures(int step) {
        for (ts::index_t n = 0; n < batch; ++n) {
            const auto label = static_cast<std::int32_t>((n * 7 + step * 3) % 10);
            labels[ts::to_size(n)] = label;
            for (ts::index_t i = 0; i < pixels; ++i) {
                const bool bar = i % 28 / 2 == label + 2;
                const auto noise = static_cast<float>((i * 31 + n * 17 + step * 13) % 101) * 0.005F;
                numbers[ts::to_size(n * pixels + i)] = (bar ? 1.0F : 0.0F) + noise;
            }
        }
    }
};

int program(ts::mpi::environment& mpi, int steps) {
    using network = networks::lenet5;
    const ts::local_devices devices = ts::mpi::ranks(mpi);
    const ts::strategy s = ts::search::data_parallel(ts::describe<network>(batch).view(), devices.count());
    ts::trainer<network> trainer(devices, s, batch, ts::sgd{.learning_rate = 0.02F, .momentum = 0.9F});
    for (int step = 0; step < steps; ++step) {
        const pictures p(step);
        const std::vector<ts::input_data> inputs{std::span<const float>(p.numbers),
                                                 std::span<const std::int32_t>(p.labels)};
        const double loss = trainer.step(std::span<const ts::input_data>(inputs));
        if (mpi.rank() == 0 && (step % 20 == 0 || step + 1 == steps)) {
            std::printf("step %d: loss %.4f\n", step + 1, loss);
            std::fflush(stdout);
        }
    }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    return ts::mpi::run(argc, argv, [&](ts::mpi::environment& mpi) {
        const int steps = argc > 1 ? std::atoi(argv[1]) : 60;
        if (steps < 1) {
            throw ts::error("usage: over_ranks [STEPS], at least one");
        }
        return program(mpi, steps);
    });
}
