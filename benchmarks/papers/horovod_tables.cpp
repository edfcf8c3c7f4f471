// SPDX-License-Identifier: Apache-2.0
// Horovod (Sergeev and Del Balso 2018, arXiv 1802.05799; horovod/docs/benchmarks.rst) in the simulator, as Markdown: scaling efficiency with and
// without fusion and with blocking all-reduces.
#include "benchmarks/papers/gradients.hpp"
#include "examples/zoo/inception.hpp"
#include "examples/zoo/residual.hpp"

namespace {

using namespace papers;

constexpr index_t batch = 64;
constexpr int gpus_per_server = 4;

struct network {
    const char* name;
    ts::graph (*describe)(index_t);
    int paper_128, paper_512;
};

/// The cards of some servers that are `share` as fast as 25 Gb/s and stand for `all`.
ts::cluster servers(int shown, int all, double share) {
    card c{static_cast<index_t>(3125 * share), 5000};
    c = all > shown ? standing_for(c, shown, all) : c;
    return ts::cluster(nodes_of("P100 servers, 25 Gb/s", ts::machines::detail::gpu("P100-SXM2", 10600, 732000, 16),
                                shown, gpus_per_server, {20000, 1000, c.megabytes, c.latency}));
}

class measured {
public:
    explicit measured(const network& n, int shown = 2)
        : what(n), workers_(n.describe(batch), shown * gpus_per_server, p100_pcie()), shown_(shown) {
        const auto& all = workers_.gradients();
        plans_.push_back(workers_.plan(schedule::tensor_fusion(all)));
        plans_.push_back(workers_.plan(schedule::tensor_fusion(all, {0, 0})));
        plans_.push_back(workers_.plan(schedule::blocking_all_reduce(all)));
    }
    /// Per cent of so many times one GPU. `policy`: 0 fused, 1 each gradient by itself, 2 blocking.
    double efficiency(int policy, int nodes, double share) const {
        const ts::plan& p = plans_[static_cast<std::size_t>(policy)];
        return 100 * workers_.alone_ms() / step_ms(workers_.view(), p, servers(shown_, nodes, share), workers_.times());
    }
    network what;

private:
    workers workers_;
    int shown_;
    std::vector<ts::plan> plans_;
};

} // namespace

int main() {
    const network networks_of_paper[] = {
        {"Inception-v3", ts::describe<networks::inception_v3>, 90, 90},
        {"ResNet-101", ts::describe<networks::resnet101>, 90, 90},
        {"VGG-16", ts::describe<networks::vgg16>, 79, 68},
    };
    std::vector<measured> all;
    for (const network& n : networks_of_paper) {
        all.emplace_back(n);
    }
    // The one fitted constant: the share of 25 Gb/s that all-reduces reach, on VGG-16's row.
    const double share = fit(0.05, 1, 79, true, [&](double s) { return all[2].efficiency(0, 32, s); });
    std::printf("## Horovod\n\nServers of 4 Pascal GPUs (taken as P100) and 25 Gb/s RoCE, 64 images per GPU, each GPU "
                "normalizes its own. Fusion: 128 MiB, 1 ms. "
                "Efficiency in %% of as many single GPUs.\nTwo servers are simulated, with cards that stand for the "
                "rest. The one fitted constant: all-reduces reach %.0f %% of 25 Gb/s (VGG-16 on 128 GPUs); "
                "beside it everything without a fit.\n\n"
                "| network | GPUs | paper | fused, fitted | fused | not fused, fitted | blocking, fitted "
                "|\n|---|---|---|---|---|---|---|\n",
                100 * share);
    for (const measured& m : all) {
        for (const int nodes : {32, 128}) {
            std::printf("| %s | %d | %d | %.1f%s | %.1f | %.1f | %.1f |\n", m.what.name, nodes * gpus_per_server,
                        nodes == 32 ? m.what.paper_128 : m.what.paper_512, m.efficiency(0, nodes, share),
                        nodes == 32 && m.what.paper_128 == 79 ? " (fitted)" : "", m.efficiency(0, nodes, 1),
                        m.efficiency(1, nodes, share), m.efficiency(2, nodes, share));
            std::fflush(stdout);
        }
    }
    std::printf("\nTwo servers that stand for all, beside all simulated (VGG-16, fused, fitted):\n\n| servers | two, "
                "%% | all, %% |\n|---|---|---|\n");
    for (const int nodes : {4, 16}) {
        const measured whole(networks_of_paper[2], nodes);
        std::printf("| %d | %.2f | %.2f |\n", nodes, all[2].efficiency(0, nodes, share),
                    whole.efficiency(0, nodes, share));
        std::fflush(stdout);
    }
}
