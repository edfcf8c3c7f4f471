// SPDX-License-Identifier: Apache-2.0
// Training steps of the compiled runtime beside those of the headers alone, in one program and in turns:
//
//     runtime_ratio [PAIRS]
//
// Each pair is one step of either on the same batch, the first to go drawn by turns; a step's processor seconds count, so that
// others on the machine do not. The ratio is the headers' seconds over the runtime's: above 1, the runtime is faster. The interval
// holds the median of the ratios with 95 %, whatever their distribution is. Both sides must agree on every loss, bit for bit.
#include "benchmarks/support/timing.hpp"

#include <tessera/host.hpp>
#include <tessera/host_runtime.hpp>
#include <tessera/search/by_hand/baselines.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace ts = tessera;

namespace {

struct conv1 : ts::conv2d<10, ts::window<5>> {};
struct conv2 : ts::conv2d<20, ts::window<5>> {};
struct fc1 : ts::linear<50> {};
struct fc2 : ts::linear<10> {};
struct lenet : ts::sequential<ts::image<1, 28, 28>, conv1, ts::max_pool<2>, ts::relu, conv2, ts::max_pool<2>, ts::relu,
                              ts::flatten, fc1, ts::relu, fc2, ts::cross_entropy> {};

struct words : ts::embedding<512, 64> {};
struct places : ts::position_embedding<> {};
struct norm1 : ts::layer_norm<> {};
struct norm2 : ts::layer_norm<> {};
struct norm3 : ts::layer_norm<> {};
struct query : ts::linear<64> {};
struct key : ts::linear<64> {};
struct value : ts::linear<64> {};
struct merge : ts::linear<64> {};
struct wide : ts::linear<256> {};
struct narrow : ts::linear<64> {};
struct logits : ts::linear<512, ts::no_bias> {};
using attention = ts::self_attention<4, query, key, value, merge, ts::softmax<ts::causal>, ts::dropout<10>>;
struct gpt : ts::sequential<ts::tokens<64>, words, places,
                            ts::repeat<2, ts::residual<norm1, attention>, ts::residual<norm2, wide, ts::gelu, narrow>>,
                            norm3, ts::tied<logits, words>, ts::cross_entropy> {};

struct pictures {
    std::vector<float> inputs;
    std::vector<std::int32_t> labels;
    int size = 64;
    pictures() {
        for (int i = 0; i < size * 28 * 28; ++i) {
            inputs.push_back(static_cast<float>(i * 31 % 97) / 97);
        }
        for (int i = 0; i < size; ++i) {
            labels.push_back(i % 10);
        }
    }
};
struct text {
    std::vector<std::int32_t> inputs, labels;
    int size = 8;
    text() {
        for (int i = 0; i < size * 64; ++i) {
            inputs.push_back(i * 7 % 512);
            labels.push_back((i + 1) * 7 % 512);
        }
    }
};

double processor_seconds() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

template <class Net, class Batch>
bool compare(const char* name, const Batch& batch, int pairs) {
    const ts::graph g = ts::describe<Net>(batch.size);
    const ts::strategy one = ts::search::data_parallel(g.view(), 1);
    // Implementations by rules of thumb, so that both choose the same.
    const ts::trainer_options options;
    ts::trainer<Net, ts::host::backend> headers(ts::local_devices(1), one, batch.size, ts::sgd{.learning_rate = 0.01F},
                                                options);
    ts::trainer<Net, ts::host::runtime> runtime(ts::local_devices(1), one, batch.size, ts::sgd{.learning_rate = 0.01F},
                                                options);
    std::vector<double> seconds[2];
    std::vector<double> ratios;
    const auto step = [&](int side) {
        const double begin = processor_seconds();
        const double loss = side == 0 ? headers.step(batch) : runtime.step(batch);
        seconds[side].push_back(processor_seconds() - begin);
        return loss;
    };
    for (int pair = -10; pair < pairs; ++pair) {
        double losses[2];
        for (const int turn : {0, 1}) {
            const int side = (pair + turn) & 1;
            losses[side] = step(side);
        }
        if (losses[0] != losses[1]) {
            std::printf("%s: the losses differ: %.9g with headers, %.9g with the runtime\n", name, losses[0],
                        losses[1]);
            return false;
        }
        if (pair < 0) { // warming up
            seconds[0].clear();
            seconds[1].clear();
        } else {
            ratios.push_back(seconds[0].back() / seconds[1].back());
        }
    }
    std::sort(ratios.begin(), ratios.end());
    const int place = std::max(0, ts::detail::median_place(static_cast<int>(ratios.size())));
    const std::size_t last = ratios.size() - 1;
    std::printf("%-6s headers %9.1f us  runtime %9.1f us a step;  headers / runtime %.4f, 95 %%: %.4f to %.4f (%zu "
                "pairs; wanted: at least 0.97)\n",
                name, 1e6 * benchmarks::median(seconds[0]), 1e6 * benchmarks::median(seconds[1]),
                ratios[ratios.size() / 2], ratios[static_cast<std::size_t>(place)],
                ratios[last - static_cast<std::size_t>(place)], ratios.size());
    return true;
}

} // namespace

int main(int argc, char** argv) {
    const int pairs = argc > 1 ? std::atoi(argv[1]) : 400;
    if (pairs < 6) {
        std::fprintf(stderr, "runtime_ratio: give a number of pairs from 6 on\n");
        return 2;
    }
    const bool good = compare<lenet>("LeNet", pictures(), pairs) && compare<gpt>("GPT", text(), pairs);
    return good ? 0 : 1;
}
