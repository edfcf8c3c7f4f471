// SPDX-License-Identifier: Apache-2.0
// What it costs two ranks of one device each to compare what they are about to run, in every step:
//
//     mpirun -n 2 --bind-to none rank_identity [STEPS]
//
// Data parallelism on the host backend. Of each network: the time of a step, and of it the time that the value which is
// compared takes to be made (labels hashed, some numbers of other inputs read, all fields mixed). What is sent is the
// barrier at the run's begin, whose number it is: 8 bytes of each rank, as without it. The share of that time is the
// median over blocks.
#include "benchmarks/support/timing.hpp"
#include "examples/networks.hpp"
#include "examples/zoo/llama.hpp"

#include <tessera/execute/ranks/step_identity.hpp>
#include <tessera/host.hpp>
#include <tessera/ranks/mpi.hpp>
#include <tessera/search/by_hand/baselines.hpp>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace ts = tessera;

namespace {

struct hidden : ts::linear<16> {};
struct classes : ts::linear<4> {};
/// A step of next to nothing.
struct tiny : ts::sequential<ts::features<8>, hidden, ts::relu, classes, ts::cross_entropy> {};
struct gpt : networks::llama_parts<4, 128, 4, 352, 64, 256>::network {};

template <class Net>
void measure(const char* name, ts::index_t batch, const ts::local_devices& devices, int rank, int steps) {
    const ts::graph network = ts::describe<Net>(batch);
    const ts::graph_view g = network.view();
    std::vector<std::vector<float>> numbers;
    std::vector<std::vector<std::int32_t>> integers;
    std::vector<ts::input_data> inputs;
    numbers.reserve(8);
    integers.reserve(8);
    for (int t = 0; t < g.tensor_count; ++t) {
        const auto n = ts::to_size(g.tensors[t].extents.volume());
        if (g.tensors[t].producer >= 0) {
            continue;
        }
        if (g.tensors[t].type == ts::element::i32) {
            integers.emplace_back(n, 1);
            inputs.emplace_back(std::span<const std::int32_t>(integers.back()));
        } else {
            numbers.emplace_back(n, 0.5F);
            inputs.emplace_back(std::span<const float>(numbers.back()));
        }
    }
    ts::trainer<Net> trainer(devices, ts::search::data_parallel(g, devices.count()), batch,
                             ts::sgd{.learning_rate = 0.01F});
    std::vector<double> step;
    std::vector<double> identity;
    std::uint64_t all = 0;
    for (int block = 0; block < 20; ++block) {
        step.push_back(benchmarks::milliseconds([&] {
                           for (int i = 0; i < steps; ++i) {
                               trainer.step(std::span<const ts::input_data>(inputs));
                           }
                       }) *
                       1000 / steps);
        identity.push_back(benchmarks::milliseconds([&] {
                               for (int i = 0; i < steps; ++i) {
                                   ts::step_identity what;
                                   what.number = static_cast<std::uint64_t>(i);
                                   ts::detail::add_batch(what, g, inputs);
                                   all ^= ts::hash_of_fields(what);
                               }
                           }) *
                           1000 / steps);
    }
    if (rank == 0) {
        const double whole = benchmarks::median(step);
        const double own = benchmarks::median(identity);
        std::printf("%-26s %10.1f us a step, %6.2f us of them for what is compared: %.2f %%%s\n", name, whole, own,
                    100 * own / whole, all == 0 ? "" : " ");
    }
}

int program(const ts::mpi::environment& mpi, int steps) {
    const ts::local_devices devices = ts::mpi::ranks(mpi);
    measure<tiny>("two layers, batch 8", 8, devices, mpi.rank(), 10 * steps);
    measure<networks::lenet5>("LeNet-5, batch 64", 64, devices, mpi.rank(), steps);
    measure<gpt>("a small Llama, batch 8", 8, devices, mpi.rank(), steps / 10 + 1);
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    return ts::mpi::run(
        argc, argv, [&](const ts::mpi::environment& mpi) { return program(mpi, argc > 1 ? std::atoi(argv[1]) : 50); });
}
