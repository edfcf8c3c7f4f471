// SPDX-License-Identifier: Apache-2.0
// Prints, for each network and number of devices, the modelled step time of the baselines and of OptCNN's strategy,
// what the search did and how long it took; then LeNet-5 by elimination beside depth-first search.
#include "tessera/search/optcnn/optcnn.hpp"
#include "benchmarks/support/by_name.hpp"
#include "benchmarks/support/timing.hpp"
#include "examples/networks.hpp"
#include "tessera/machine/presets.hpp"

#include <cstdio>

namespace {

namespace ts = tessera;

using benchmarks::clock_type;
using benchmarks::milliseconds_since;

double in_ms(ts::index_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-6; }

/// The strategies that are compared with what searches find, for so many P100s.
template <class Use>
void each_baseline(const ts::graph_view& g, int devices, const Use& use) {
    const ts::cluster on(ts::machines::p100_nodes(devices > 4 ? devices / 4 : 1, devices > 4 ? 4 : devices));
    for (const ts::search::search_record* r : ts::search::quick_searches<>) {
        if (r->is_baseline && applies(*r, g, on)) {
            use(*r, on);
        }
    }
}

/// One row; `paper` searches with exactly OptCNN's two eliminations, for its K.
template <class Net>
void row(const char* name, int devices, ts::index_t samples_per_device) {
    const ts::graph g = ts::describe<Net>(samples_per_device * devices);
    const ts::machine on = ts::machines::p100_cluster(devices);
    const auto cost = [&](const ts::strategy& s) { return in_ms(ts::cost::total_cost(g.view(), s, on)); };
    double best_time = 1e300;
    double table_time = 1e300;
    ts::search::optcnn_result found;
    for (int repetition = 0; repetition < 5; ++repetition) {
        const auto start = clock_type::now();
        found = ts::search::optcnn_search(g.view(), on);
        const double time = milliseconds_since(start);
        best_time = time < best_time ? time : best_time;
        const auto again = clock_type::now();
        const auto problem = ts::search::make_optcnn_problem(g.view(), on);
        const double tables = milliseconds_since(again);
        table_time = tables < table_time ? tables : table_time;
    }
    ts::search::optcnn_options paper;
    paper.elimination.leaf_rule = false;
    const auto as_published = ts::search::optcnn_search(g.view(), on, paper);
    std::printf("%-22s %7d", name, devices);
    each_baseline(g.view(), devices, [&](const ts::search::search_record& r, const ts::cluster& where) {
        std::printf(" %15.3f", cost(ts::search::run(r, g.view(), where).best));
    });
    std::printf(" %9.3f  %2d %11lld %2d %11lld %9.2f %9.2f\n", in_ms(found.cost), found.statistics.remaining,
                static_cast<long long>(found.statistics.relaxations), as_published.statistics.remaining,
                static_cast<long long>(as_published.statistics.relaxations), best_time, table_time);
}

template <class Net>
void rows(const char* name) {
    for (const int devices : {1, 2, 4, 8, 16}) {
        row<Net>(name, devices, 32);
    }
}

/// LeNet-5 by depth-first search with and without OptCNN's elimination.
void depth_first(int devices) {
    const ts::graph g = ts::describe<networks::lenet5>(32 * devices);
    const ts::machine on = ts::machines::p100_cluster(devices);
    const auto problem = ts::search::make_optcnn_problem(g.view(), on);
    auto start = clock_type::now();
    const auto by_elimination = ts::search::eliminate(problem.costs);
    const double elimination_time = milliseconds_since(start);
    start = clock_type::now();
    const auto by_exhaustion = ts::search::exhaustive(problem.costs, 500'000'000);
    const double exhaustive_time = milliseconds_since(start);
    std::printf(
        "LeNet-5, %d devices: %s strategies; elimination %.3f ms (%.3f ms per step found), depth-first search %.1f ms "
        "(%lld partial strategies visited, %s)\n",
        devices, ts::search::space_size_text(problem.costs).c_str(), elimination_time, in_ms(by_elimination.cost),
        exhaustive_time, static_cast<long long>(by_exhaustion.visited),
        by_exhaustion.state != ts::search::status::solved ? "stopped"
        : by_exhaustion.cost == by_elimination.cost       ? "same cost"
                                                          : "DIFFERENT COST");
}

} // namespace

int main() {
    std::printf("Modelled step time in ms on P100s, 32 samples per device. K nodes left and relaxations: with leaf "
                "elimination, "
                "and with the paper's two rules alone.\nSearch: tables and eliminations, best of 5, in ms; of which "
                "tables.\n\n");
    std::printf("%-22s %7s", "network", "devices");
    const ts::graph any = ts::describe<networks::lenet5>(32);
    each_baseline(any.view(), 2, [](const ts::search::search_record& r, const ts::cluster&) {
        std::printf(" %15s", std::string(r.name).c_str());
    });
    std::printf(" %9s  %2s %11s %2s %11s %9s %9s\n", "optcnn", "K", "relaxations", "K", "relaxations", "search",
                "tables");
    rows<networks::lenet5>("LeNet-5");
    rows<networks::mlp>("MLP 784-4096-4096-10");
    rows<networks::alexnet>("AlexNet");
    rows<networks::vgg16>("VGG-16");
    std::printf("\n");
    for (const int devices : {2, 4}) {
        depth_first(devices);
    }
}
