// SPDX-License-Identifier: Apache-2.0
// HyPar-Flow (Awan et al. 2020, arXiv 1911.05146) in the simulator, as Markdown: ResNet-1001 on nodes of Skylake
// processors, data parallel and in partitions x replicas.
#include "benchmarks/papers/hybrids.hpp"
#include "examples/zoo/residual.hpp"

namespace {

using namespace papers;

constexpr index_t per_node = 256; // images
constexpr card omni_path{12500, 2000};

struct setting {
    int processes = 8; ///< of a node
    int partitions = 1;
    int micro_batches = 1;
};
/// Data parallel as Horovod is run on processors: a process for each socket.
constexpr setting horovod{2, 1, 1};

/// Steps of one network.
class runs {
public:
    explicit runs(ts::graph (*describe)(index_t)) : describe_(describe) {}

    /// Milliseconds of a step of `nodes` nodes, of which `shown` are simulated.
    double ms(const setting& x, int shown, int nodes, double serial) {
        const entry& e = of(x, shown);
        const card c = nodes > shown ? standing_for(omni_path, shown, nodes) : omni_path;
        return step_ms(e.graph.view(), e.plan,
                       ts::cluster(skylake_nodes(shown, x.processes, serial, c.megabytes, c.latency)));
    }
    /// The fastest partitions x replicas of 8 processes, and which it is.
    double hybrid_ms(int shown, int nodes, double serial, int* best = nullptr) {
        double least = 1e300;
        for (const int k : {2, 4, 8}) {
            const double t = ms({8, k, 2 * k}, shown, nodes, serial);
            if (best != nullptr && t < least) {
                *best = k;
            }
            least = std::min(least, t);
        }
        return least;
    }

private:
    struct entry {
        setting is;
        int nodes = 0;
        ts::graph graph;
        ts::plan plan;
    };
    const entry& of(const setting& x, int nodes) {
        for (const entry& e : known_) {
            if (e.is.processes == x.processes && e.is.partitions == x.partitions &&
                e.is.micro_batches == x.micro_batches && e.nodes == nodes) {
                return e;
            }
        }
        const int devices = nodes * x.processes;
        const int replicas = devices / x.partitions;
        const ts::graph one = describe_(per_node * nodes / replicas);
        ts::strategy s = search::single_device(one.view());
        if (x.partitions > 1) {
            const std::vector<int> stage = schedule::balance_stages(
                search::operator_times(one.view(), skylake_process(x.processes, 0)), x.partitions);
            s = search::pipeline(one.view(), stage, schedule_by("gpipe", x.partitions, x.micro_batches));
        }
        known_.push_back({x, nodes, replicas_of(one, replicas), {}});
        entry& e = known_.back();
        e.plan = ts::lower(e.graph.view(), replicas_of(s, replicas, x.partitions).view(), devices);
        return e;
    }

    ts::graph (*describe_)(index_t);
    std::vector<entry> known_;
};

/// Why ResNet-110's row deviates: each assumption changed by itself, the others as they were.
void explain_resnet110(runs& small, runs& deep, double serial, double paper) {
    const double alone = small.ms({1, 1, 1}, 1, 1, serial);
    const auto row = [&](const char* what, double times) {
        std::printf("| %s | %.2f | %+.0f %% |\n", what, times, 100 * (times / paper - 1));
        std::fflush(stdout);
    };
    std::printf("\nResNet-110's row, each assumption changed by itself (paper: %.1f):\n\n| changed | times | off "
                "|\n|---|---|---|\n",
                paper);
    row("nothing", alone / small.hybrid_ms(1, 1, serial));
    double best = 0;
    for (const int k : {2, 4, 8}) {
        for (const int m : {k, 2 * k, 4 * k, 8 * k}) {
            best = std::max(best, alone / small.ms({8, k, m}, 1, 1, serial));
        }
    }
    row("the schedule: 8 processes, the best of 2 to 8 partitions in one to eight times as many micro-batches", best);
    row("16 processes of 3 cores, 2 partitions", alone / small.ms({16, 2, 4}, 1, 1, serial));
    row("16 processes of 3 cores, 4 partitions", alone / small.ms({16, 4, 8}, 1, 1, serial));
    const double other = fit(serial / 2, serial * 4, paper, true, [&](double f) {
        return small.ms({1, 1, 1}, 1, 1, f) / small.hybrid_ms(1, 1, f);
    });
    char name[80];
    std::snprintf(name, sizeof(name), "the serial share: %.3f instead of %.3f", other, serial);
    row(name, small.ms({1, 1, 1}, 1, 1, other) / small.hybrid_ms(1, 1, other));
    std::printf("\nIt is the fitted share, not the schedule: no schedule of 8 processes comes near, and a share of "
                "%.3f gives the paper's %.1f. With "
                "it ResNet-1001's first row would\nbe %.2f: the two networks' operators do not leave the same share to "
                "one core.\n",
                other, paper, deep.ms(horovod, 2, 128, other) / deep.hybrid_ms(2, 128, other));
}

} // namespace

int main() {
    runs small(ts::describe<networks::resnet110_v2>);
    runs deep(ts::describe<networks::resnet1001_v2>);
    std::printf(
        "## HyPar-Flow\n\nAssumptions: a node of 48 Skylake cores and Omni-Path trains %lld images of 32 x 32 in a "
        "step; data parallel "
        "(Horovod) in 2 processes of 24 cores, each with\nall layers; HyPar-Flow in 8 processes of 6 cores, as "
        "partitions x replicas, "
        "whichever is fastest, in twice as many micro-batches as partitions. 20 us start an operator.\nEvery replica "
        "normalizes its own samples. The one fitted constant is the share of an operator that its process's cores do "
        "not divide "
        "(Amdahl), on the row marked;\nthe paper's abstract does not say on how many nodes it was measured: here 128. "
        "Of more than two nodes two are simulated, with cards "
        "that stand for the rest.\n\n",
        static_cast<long long>(per_node));
    const double serial =
        fit(1e-4, 0.5, 1.6, true, [&](double f) { return deep.ms(horovod, 2, 128, f) / deep.hybrid_ms(2, 128, f); });
    int k = 0;
    std::printf("| | paper | simulated |\n|---|---|---|\n");
    std::printf("| ResNet-1001, over data parallel, 128 nodes | 1.6 | %.2f (fitted: serial share %.4f) |\n",
                deep.ms(horovod, 2, 128, serial) / deep.hybrid_ms(2, 128, serial, &k), serial);
    const double one = deep.hybrid_ms(1, 1, serial);
    std::printf("| ResNet-1001, 128 nodes over one | 110 (Stampede2) | %.0f |\n",
                128 * one / deep.hybrid_ms(2, 128, serial));
    std::printf("| ResNet-1001, 512 nodes over one | 481 (Frontera) | %.0f |\n",
                512 * one / deep.hybrid_ms(2, 512, serial));
    constexpr double of_resnet110 = 3.1;
    std::printf("| ResNet-110, one node, over one process of 48 cores | %.1f | %.2f |\n", of_resnet110,
                small.ms({1, 1, 1}, 1, 1, serial) / small.hybrid_ms(1, 1, serial));
    std::fflush(stdout);
    explain_resnet110(small, deep, serial, of_resnet110);
    std::printf("\nMilliseconds of a step of ResNet-1001 on 128 nodes, and without the fit (serial share 0):\n\n"
                "| | fitted | all cores divide all work |\n|---|---|---|\n");
    const auto row = [&](const char* name, const setting& x) {
        std::printf("| %s | %.0f | %.0f |\n", name, deep.ms(x, 2, 128, serial), deep.ms(x, 2, 128, 0));
        std::fflush(stdout);
    };
    row("data parallel, 2 processes a node", horovod);
    row("data parallel, 8 processes a node", {8, 1, 1});
    row("2 partitions x 4 replicas a node", {8, 2, 4});
    row("4 x 2", {8, 4, 8});
    row("8 x 1", {8, 8, 16});
    std::printf("\nTwo nodes that stand for all, beside all simulated (ResNet-110, ms):\n\n"
                "| nodes | data parallel, two | all | 8 x 1, two | all |\n|---|---|---|---|---|\n");
    for (const int nodes : {4, 8}) {
        std::printf("| %d | %.2f | %.2f | %.2f | %.2f |\n", nodes, small.ms(horovod, 2, nodes, serial),
                    small.ms(horovod, nodes, nodes, serial), small.ms({8, 8, 16}, 2, nodes, serial),
                    small.ms({8, 8, 16}, nodes, nodes, serial));
        std::fflush(stdout);
    }
    std::printf("\nWhat differs: partitions do not beat data parallelism as such in the simulator: stages wait for "
                "each other, and data "
                "parallelism in processes as small as\nHyPar-Flow's is faster than any hybrid, with and without the "
                "fit. The gain over data "
                "parallelism comes from Horovod's larger processes that use their cores\nbadly, which is the fitted "
                "constant and an assumption. "
                "Weak scaling is ideal in the simulator: all-reduces are hidden; the paper's 110 and 481 are %.0f and "
                "%.0f %%.\n",
                100 * 110.0 / 128, 100 * 481.0 / 512);
}
