// SPDX-License-Identifier: Apache-2.0
// For every network of the zoo: how far OptCNN's strategy and some designed by hand are from the best possible at most,
// under the additive model. bounds DEVICES [NETWORK...]
#include "benchmarks/support/timing.hpp"
#include "examples/zoo/zoo.hpp"
#include "tessera/execute/local/search_threads.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/search/certified/bound.hpp"
#include "tessera/search/quick_searches.hpp"
#include "tessera/search/run.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

namespace ts = tessera;
namespace search = tessera::search;

double percent(const search::strategy_bound& b) {
    if (b.none.empty() && b.bound > b.cost) {
        throw ts::error("the bound is above the cost: " + to_text(b));
    }
    return 100 * b.gap();
}

void row(const networks::zoo_entry& entry, const ts::cluster& on, std::vector<double>& gaps) {
    const ts::graph g = entry.describe(on.devices() * 16);
    const ts::machine m = ts::uniform_machine(on);
    const auto start = benchmarks::clock_type::now();
    search::optcnn_options options;
    options.threads = ts::search_threads();
    const search::optcnn_result found = search::optcnn_search(g.view(), m, options);
    const double searched = benchmarks::milliseconds_since(start);
    search::bound_options how;
    how.most_work = 8'000'000'000;
    const ts::graph_view view = g.view();
    search::strategy_bounds bounds(view, m, how);
    const search::strategy_bound b = bounds.of(found.best);
    const double all = benchmarks::milliseconds_since(start);
    if (!b.none.empty()) {
        std::printf("| %s | %d | %s |\n", entry.name, g.view().op_count, to_text(b).c_str());
        return;
    }
    gaps.push_back(percent(b));
    std::printf("| %s | %d | %s | %.0f | %.0f | %.3f | %.3f | %.2f %% |", entry.name, g.view().op_count,
                to_text(found.by), searched, all - searched, static_cast<double>(b.cost) * 1e-6,
                static_cast<double>(b.bound) * 1e-6, gaps.back());
    for (const char* name : {"data", "one-weird-trick", "megatron"}) {
        const search::search_record& hand = search::quick_search_named(name);
        if (!applies(hand, g.view(), on)) {
            std::printf(" - |");
            continue;
        }
        std::printf(" %.1f %% |", percent(bounds.of(search::run(hand, view, on).best)));
    }
    std::printf("\n");
    std::fflush(stdout);
}

} // namespace

int main(int count, char** arguments) {
    const int devices = count > 1 ? std::atoi(arguments[1]) : 0;
    if (devices < 2 || devices > search::most_bounded_devices || (devices > 4 && devices % 4 != 0)) {
        std::fprintf(stderr, "bounds DEVICES [NETWORK...], 2 to 4 or a multiple of 4\n");
        return 2;
    }
    try {
        const ts::cluster on(ts::machines::p100_nodes(devices > 4 ? devices / 4 : 1, std::min(devices, 4)));
        std::printf(
            "| network, 16 samples a device | operators | OptCNN by | search, ms | bound, ms | a step, ms | none "
            "below, ms | above the best possible at most | data parallel | one weird trick | Megatron |\n"
            "|---|---|---|---|---|---|---|---|---|---|---|\n");
        std::vector<double> gaps;
        for (const networks::zoo_entry& entry : networks::zoo()) {
            const bool wanted = count < 3 || std::any_of(arguments + 2, arguments + count, [&](const char* name) {
                                    return std::strcmp(name, entry.name) == 0;
                                });
            if (wanted) {
                row(entry, on, gaps);
            }
        }
        std::sort(gaps.begin(), gaps.end());
        if (!gaps.empty()) {
            std::printf("\n%zu networks on %d devices: median %.2f %%, worst %.2f %%\n", gaps.size(), devices,
                        gaps[gaps.size() / 2], gaps.back());
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bounds: %s\n", e.what());
        return 1;
    }
}
