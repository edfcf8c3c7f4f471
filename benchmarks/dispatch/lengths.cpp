// SPDX-License-Identifier: Apache-2.0
// What a training step costs on sequences of half the length, in one trainer of a GPT of two layers (256 channels, 4
// heads, 1,024 tokens, one sample) on one device of the host: steps on whole and on half sequences in turns, in seconds
// of the processor.
//
//     lengths [PAIRS]             15 pairs, if not said
#include "benchmarks/support/timing.hpp"

#include <tessera/host.hpp>
#include <tessera/tessera.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace {

namespace ts = tessera;

constexpr ts::index_t longest = 1024;
constexpr int vocabulary = 2048;

struct words : ts::embedding<vocabulary, 256> {};
struct norm1 : ts::layer_norm<> {};
struct norm2 : ts::layer_norm<> {};
struct query : ts::linear<256> {};
struct key : ts::linear<256> {};
struct value : ts::linear<256> {};
struct merge : ts::linear<256> {};
struct wide : ts::linear<1024> {};
struct narrow : ts::linear<256> {};
struct logits : ts::linear<vocabulary> {};
using attention = ts::self_attention<4, query, key, value, merge, ts::softmax<ts::causal>>;
struct gpt : ts::sequential<ts::tokens<ts::up_to<longest>>, words,
                            ts::repeat<2, ts::residual<norm1, attention>, ts::residual<norm2, wide, ts::gelu, narrow>>,
                            logits, ts::cross_entropy> {};

struct text {
    std::vector<std::int32_t> inputs, labels;
    int size = 1;

    explicit text(ts::index_t length) {
        for (ts::index_t i = 0; i <= length; ++i) {
            const auto token = static_cast<std::int32_t>(ts::op::mix(static_cast<std::uint64_t>(i)) % vocabulary);
            if (i < length) {
                inputs.push_back(token);
            }
            if (i > 0) {
                labels.push_back(token);
            }
        }
    }
};

double processor_seconds() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

using benchmarks::median;

} // namespace

int main(int argc, char** argv) {
    const int pairs = argc > 1 ? std::atoi(argv[1]) : 15;
    if (pairs < 1) {
        std::fprintf(stderr, "lengths: the number of pairs must be at least 1\n");
        return 2;
    }
    const ts::graph g = ts::describe<gpt>(1);
    ts::trainer<gpt> t(ts::local_devices(1), ts::strategy(g.view()), 1, ts::sgd{.learning_rate = 0.01F});
    const text whole(longest);
    const text half(longest / 2);
    t.step(whole); // plans, chooses implementations
    t.step(half);
    std::vector<double> times[2];
    std::vector<double> ratios;
    for (int i = 0; i < pairs; ++i) {
        const double start = processor_seconds();
        t.step(whole);
        const double middle = processor_seconds();
        t.step(half);
        times[0].push_back(middle - start);
        times[1].push_back(processor_seconds() - middle);
        ratios.push_back(times[1].back() / times[0].back());
    }
    std::printf("step on %d tokens: %.1f ms of the processor, on %d: %.1f ms (medians of %d pairs)\n",
                static_cast<int>(longest), 1e3 * median(times[0]), static_cast<int>(longest / 2),
                1e3 * median(times[1]), pairs);
    std::sort(ratios.begin(), ratios.end());
    std::printf("half over whole: %.3f (median), from %.3f to %.3f\n", median(ratios), ratios.front(), ratios.back());
}
