// SPDX-License-Identifier: Apache-2.0
// convolutions BATCH [NETWORK...]: every different convolution of a training step on one GPU, a line for each, of the
// networks named or of the whole zoo, in all three precisions: for deviceless.py. Needs neither CUDA nor a GPU.
#include "examples/zoo/zoo.hpp"

#include "tessera/backend/cuda/bind.hpp"
#include "tessera/net/precision.hpp"
#include "tessera/plan/lower/lower.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

namespace ts = tessera;

std::string joined(const int* numbers, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
        text += (i > 0 ? "," : "") + std::to_string(numbers[i]);
    }
    return text;
}

void print(const std::string& network, const ts::graph& g) {
    const ts::optimizer how;
    ts::plan p = ts::lower(g.view(), ts::strategy(g.view()).view(), 1);
    ts::cuda::algorithm_table algorithms;
    ts::cuda::bind(p, g.view(), {{0}, how}, algorithms);
    constexpr const char* ways[] = {"forward", "backward_data", "backward_filter"};
    for (const auto& [c, choice] : algorithms.known()) {
        std::printf("%s %s %s %s %s %s %s %s %s %d\n", network.c_str(), ways[static_cast<int>(c.way)],
                    ts::to_text(c.math), joined(c.x, 4).c_str(), joined(c.w, 4).c_str(), joined(c.y, 4).c_str(),
                    joined(c.padding, 2).c_str(), joined(c.stride, 2).c_str(), joined(c.dilation, 2).c_str(), c.groups);
    }
}

} // namespace

int main(int count, char** words) {
    const ts::index_t batch = count > 1 ? std::atoi(words[1]) : 0;
    if (batch < 1) {
        std::fputs("convolutions BATCH [NETWORK...]\n", stderr);
        return 2;
    }
    std::vector<std::string> names(words + 2, words + count);
    if (names.empty()) {
        for (const networks::zoo_entry& e : networks::zoo()) {
            names.push_back(e.name);
        }
    }
    for (const std::string& name : names) {
        for (const ts::precision math : {ts::precision::fp32, ts::precision::tf32, ts::precision::bf16}) {
            try {
                ts::graph g = networks::describe(name, batch);
                ts::set_precision(g, math);
                print(name, g);
            } catch (const ts::error& e) {
                std::fprintf(stderr, "%s in %s: %s\n", name.c_str(), ts::to_text(math), e.what());
            }
        }
    }
}
