// SPDX-License-Identifier: Apache-2.0
// P3 (Jayarajan et al. 2019, arXiv 1905.03960) in the simulator, as Markdown: throughput of four networks over bandwidths, with MXNet's servers, with
// slices alone, and with priorities.
#include "benchmarks/papers/p3.hpp"
#include "examples/networks.hpp"
#include "examples/zoo/inception.hpp"
#include "examples/zoo/recurrent.hpp"
#include "examples/zoo/vgg19.hpp"

namespace {

using namespace papers;

constexpr index_t batch = 32;
constexpr int machines = 4;
constexpr double bandwidths[] = {1, 2, 4, 6, 8, 10, 15, 20, 25, 30};

struct best_gain {
    double gain = 0;
    double at = 0;
};

best_gain network(const char* name, const ts::graph& one) {
    const workers w(one, machines, p4000());
    best_gain best;
    const double alone = w.alone_ms();
    for (const double gigabits : bandwidths) {
        const ts::cluster on(throttled_nodes(machines, gigabits));
        double ms[3];
        for (const p3_system which : {p3_system::servers, p3_system::slices, p3_system::priorities}) {
            ms[static_cast<int>(which)] = run_p3(w, which, gigabits, on).ms;
        }
        const double gain = ms[0] / ms[2] - 1;
        best = gain > best.gain ? best_gain{gain, gigabits} : best;
        const auto rate = [](double t) { return machines * batch / t * 1000; };
        std::printf("| %s | %.0f | %.0f | %.0f | %.0f | %+.0f | %+.0f | %.0f |\n", name, gigabits, rate(ms[0]),
                    rate(ms[1]), rate(ms[2]), 100 * (ms[0] / ms[1] - 1), 100 * gain, rate(alone));
        std::fflush(stdout);
    }
    return best;
}

} // namespace

int main() {
    std::printf("## P3\n\n4 machines with one P4000 and one co-located server each, 32 samples per machine; steps of a "
                "steady run (plans of 6 steps less "
                "plans of 2: no barrier between steps).\nServers take gradients in at 2.56 GB/s (one published datum: "
                "780 us for 2 MB, apache/mxnet#14485). Samples/s; the last "
                "column: 4 GPUs without communication.\n3 x 3 convolutions take 4/9 of their multiplications "
                "(Winograd). Nothing fitted.\n\n"
                "| network | Gb/s | MXNet's servers | slices alone | P3 | slices, %% | P3, %% | no communication |\n"
                "|---|---|---|---|---|---|---|---|\n");
    const best_gain resnet = network("ResNet-50", ts::describe<networks::resnet50>(batch));
    const best_gain inception = network("Inception-v3", ts::describe<networks::inception_v3>(batch));
    const best_gain vgg = network("VGG-19", ts::describe<networks::vgg19>(batch));
    const best_gain sockeye =
        network("Sockeye-like", ts::describe<networks::nmt_parts<30, 512, 17000>::network>(batch));
    std::printf(
        "\n| network | greatest gain, paper | at Gb/s | greatest gain, simulated | at Gb/s |\n|---|---|---|---|---|\n");
    const auto row = [](const char* name, const char* paper, const char* at, const best_gain& b) {
        std::printf("| %s | %s | %s | %+.0f %% | %.0f |\n", name, paper, at, 100 * b.gain, b.at);
    };
    row("ResNet-50", "+25 % (+26 % at 4 Gb/s)", "4", resnet);
    row("Inception-v3", "about +18 % (recalled, unproven)", "", inception);
    row("VGG-19", "+66 %", "15", vgg);
    row("Sockeye-like (LSTM 2:2, 512 hidden, 30 steps, 17,000 words)", "+38 %", "", sockeye);
}
