// SPDX-License-Identifier: Apache-2.0
// Prints what OptCNN finds on nodes of GPUs, priced on their device graph and on a uniform machine with the worst link, how it was found, how wide the
// problem was, and which of what it found and the baselines is the fastest by simulation:
//   optcnn_clusters [nodes [network...]]
#include "benchmarks/support/timing.hpp"
#include "examples/zoo/zoo.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/search/optcnn_cluster.hpp"

#include <cstdio>
#include <cstdlib>

namespace {

namespace ts = tessera;

double in_ms(ts::index_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-6; }

void row(const networks::zoo_entry& network, const ts::cluster& on, ts::index_t samples) {
    const ts::graph g = network.describe(samples * on.devices());
    const auto start = benchmarks::clock_type::now();
    const auto found = ts::search::optcnn_search(g.view(), on);
    const double seconds = benchmarks::milliseconds_since(start) * 1e-3;
    const ts::machine uniform = ts::uniform_machine(on, g.view().ops[0].attributes.math);
    const ts::strategy before = ts::search::optcnn_search(g.view(), uniform).best;
    std::printf("%s, %lld samples on %d devices: %d operators, eliminations leave %d; %s", network.name,
                static_cast<long long>(samples * on.devices()), on.devices(), g.view().op_count,
                found.model.statistics.remaining, to_text(found.model.by));
    if (found.model.by != ts::search::optcnn_method::eliminations) {
        std::printf(", width %d", found.model.width);
    }
    std::printf("; %.1f s\n%s  %-28s %12.3f ms a step\n\n", seconds, to_text(found).c_str(), "OptCNN on the worst link",
                in_ms(ts::search::simulate_finished(on, g.view(), before).makespan));
    std::fflush(stdout);
}

} // namespace

int main(int count, char** arguments) {
    const int nodes = count > 1 ? std::atoi(arguments[1]) : 2;
    std::vector<std::string> wanted(arguments + (count > 2 ? 2 : count), arguments + count);
    if (wanted.empty()) {
        wanted = {"alexnet", "resnet50", "inception_v3", "dlrm", "amoebanet_d_18_208", "rnntc", "rnnlm", "nmt"};
    }
    const ts::cluster on(ts::machines::h200_nodes(nodes));
    for (const std::string& name : wanted) {
        for (const networks::zoo_entry& n : networks::zoo()) {
            if (n.name == name) {
                row(n, on, 64);
            }
        }
    }
}
