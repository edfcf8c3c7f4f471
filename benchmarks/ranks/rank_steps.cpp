// SPDX-License-Identifier: Apache-2.0
// Training steps of two ranks of one device each beside those of one process of two devices, in one run and in turns:
//
//     mpirun -n 2 --bind-to none rank_steps [BLOCKS]
//
// Data parallelism on the host backend. A block is some steps of either side; the ratio is the ranks' time over the
// process's, the median over the blocks with the interval that holds it with 95 %. Both must agree on every loss, bit
// for bit. While one process steps the other rank sleeps.
#include "examples/networks.hpp"
#include "examples/zoo/llama.hpp"

#include <tessera/execute/measure/timing.hpp>
#include <tessera/host.hpp>
#include <tessera/ranks/mpi.hpp>
#include <tessera/search/by_hand/baselines.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace ts = tessera;

namespace {

struct gpt : networks::llama_parts<4, 128, 4, 352, 64, 256>::network {};

/// Inputs and labels of a network, the same in every process.
struct some_batch {
    std::vector<std::vector<float>> numbers = std::vector<std::vector<float>>(8);
    std::vector<std::vector<std::int32_t>> labels = std::vector<std::vector<std::int32_t>>(8);
    std::vector<ts::input_data> inputs;

    some_batch(const ts::graph_view& g, int classes) {
        for (std::size_t t = 0, k = 0; t < ts::to_size(g.tensor_count); ++t) {
            const ts::tensor_node& x = g.tensors[static_cast<int>(t)];
            if (x.producer >= 0) {
                continue;
            }
            const auto n = ts::to_size(x.extents.volume());
            for (std::size_t i = 0; i < n; ++i) {
                x.type == ts::element::i32
                    ? labels[k].push_back(static_cast<std::int32_t>(i * 7 % ts::to_size(classes)))
                    : numbers[k].push_back(static_cast<float>(i * 31 % 97) / 97);
            }
            x.type == ts::element::i32 ? inputs.emplace_back(std::span<const std::int32_t>(labels[k]))
                                       : inputs.emplace_back(std::span<const float>(numbers[k]));
            ++k;
        }
    }
};

template <class Net>
bool race(const char* name, ts::index_t batch, int classes, int steps, int blocks, const ts::mpi::environment& mpi,
          const ts::local_devices& over, std::atomic<int>& done) {
    const ts::graph g = ts::describe<Net>(batch);
    const ts::strategy s = ts::search::data_parallel(g.view(), 2);
    const some_batch data(g.view(), classes);
    const std::span<const ts::input_data> inputs(data.inputs);
    const ts::sgd how{.learning_rate = 0.001F};
    ts::trainer<Net> ranks(over, s, batch, how);
    const bool first = mpi.rank() == 0;
    const ts::local_devices here(first ? 2 : 1);
    ts::trainer<Net> alone(here, first ? s : ts::strategy(g.view()), batch, how);
    int turn = 0;
    const auto seconds_of = [&](auto& trainer, double& loss) {
        const double begin = ts::seconds_now();
        for (int i = 0; i < steps; ++i) {
            loss = trainer.step(inputs);
        }
        return (ts::seconds_now() - begin) / steps;
    };
    std::vector<double> seconds[2];
    std::vector<double> ratios;
    bool equal = true;
    for (int block = -2; block < blocks; ++block) {
        double loss[2] = {0, 0};
        double now[2] = {0, 0};
        for (int k = 0; k < 2; ++k) {
            if (((k + block) & 1) == 0) {
                now[0] = seconds_of(ranks, loss[0]);
            } else if (++turn; first) {
                now[1] = seconds_of(alone, loss[1]);
                done.store(turn);
            } else {
                while (done.load() < turn) {
                    usleep(200);
                }
            }
        }
        equal = equal && (!first || loss[0] == loss[1]);
        for (int k = 0; k < 2 && block >= 0; ++k) {
            seconds[k].push_back(now[k]);
        }
        if (block >= 0) {
            ratios.push_back(now[0] / now[1]);
        }
    }
    over.threads().group()->barrier(ts::barrier_point::end_run);
    if (first) {
        done.store(0);
    }
    over.threads().group()->barrier(ts::barrier_point::end_run);
    if (first) {
        for (std::vector<double>* all : {&seconds[0], &seconds[1], &ratios}) {
            std::sort(all->begin(), all->end());
        }
        const int place = std::max(0, ts::detail::median_place(static_cast<int>(ratios.size())));
        std::printf(
            "%-8s two ranks %9.1f us, one process %9.1f us a step; ratio %.4f, 95 %%: %.4f to %.4f (%zu blocks of %d); "
            "losses %s\n",
            name, 1e6 * seconds[0][seconds[0].size() / 2], 1e6 * seconds[1][seconds[1].size() / 2],
            ratios[ratios.size() / 2], ratios[ts::to_size(place)], ratios[ratios.size() - 1 - ts::to_size(place)],
            ratios.size(), steps, equal ? "equal" : "DIFFER");
        std::fflush(stdout);
    }
    return equal;
}

int program(const ts::mpi::environment& mpi, int blocks) {
    if (mpi.size() != 2 || blocks < 1) {
        throw ts::error("usage: mpirun -n 2 rank_steps [BLOCKS]");
    }
    const ts::local_devices over = ts::mpi::ranks(mpi);
    ts::process_group& group = *over.threads().group();
    auto& done = *static_cast<std::atomic<int>*>(group.share(0, sizeof(std::atomic<int>)));
    bool equal = race<networks::small_convnet>("small", 64, 10, 100, blocks, mpi, over, done);
    equal = race<gpt>("GPT-mini", 8, 256, 5, blocks, mpi, over, done) && equal;
    equal = race<networks::alexnet_without_dropout>("AlexNet", 16, 1000, 1, std::max(1, blocks / 3), mpi, over, done) &&
            equal;
    group.unshare(&done);
    return equal ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    return ts::mpi::run(
        argc, argv, [&](const ts::mpi::environment& mpi) { return program(mpi, argc > 1 ? std::atoi(argv[1]) : 31); });
}
