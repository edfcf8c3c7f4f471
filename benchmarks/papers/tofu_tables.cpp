// SPDX-License-Identifier: Apache-2.0
// Tofu's evaluation (Wang, Huang and Li, EuroSys 2019) on 8 simulated K80, as Markdown: what fits and how fast it is
// beside an ideal machine, small batches, swapping and operators placed; what each part of the search brings; whether
// bytes say how long a step is; links of unequal speed. tofu_tables [fits|parts|ranks|links]: all of them unless one is
// named.
#include "benchmarks/papers/tofu_memory.hpp"
#include "benchmarks/papers/tofu_networks.hpp"
#include "benchmarks/papers/tofu_studies.hpp"

#include <cstring>

namespace {

using namespace papers;

constexpr index_t batches[] = {512, 256, 128, 64, 32, 16, 8, 4, 2, 1};

/// A way to train a network on the machine: the largest batch that fits, and what it yields.
struct outcome {
    index_t batch = 0; ///< 0: none fits
    double samples_per_s = 0;
    double gigabytes = 0; ///< of the fullest device
};

using network_maker = ts::graph (*)(int a, int b, index_t batch);

/// How a network is trained: its batch on so many devices.
using strategy_maker = ts::strategy (*)(const ts::graph_view&);

struct setting {
    network_maker make;
    int a = 0;
    int b = 0;
    bool adds_up = false; ///< gradients of shared parameters are taken to be added up as they come
    index_t most = 0;     ///< batch

    ts::graph of(index_t batch) const { return make(a, b, batch); }
};

struct planned {
    double ms = 0;
    index_t bytes = 0;
};
planned plan_of(const setting& x, const ts::graph_view& g, const ts::strategy& s, const ts::cluster& on) {
    ts::plan p = search::bound_plan(g, s, on.devices(), momentum());
    ts::complete(p);
    const ts::simulation::timeline t = ts::simulation::simulate(g, p, on);
    const index_t peak = x.adds_up ? least_peak(p) : *std::max_element(t.peak_bytes.begin(), t.peak_bytes.end());
    return {static_cast<double>(t.makespan) * 1e-6, peak};
}

/// With the largest batch that fits; `devices` work on it alone, and `copies` such groups beside each other,
/// unhindered.
outcome best_of(const setting& x, const ts::cluster& on, int copies, strategy_maker make) {
    outcome r;
    for (const index_t batch : batches) {
        if (batch > x.most || (copies == 1 && batch < on.devices())) {
            continue;
        }
        const ts::graph g = x.of(batch);
        const planned p = plan_of(x, g.view(), make(g.view()), on);
        if (p.bytes <= on.class_of(0).memory_bytes) {
            r.batch = batch;
            r.samples_per_s = static_cast<double>(batch * copies) / p.ms * 1000;
            r.gigabytes = static_cast<double>(p.bytes) * 1e-9;
            break;
        }
    }
    return r;
}

void cell(const outcome& o, double ideal) {
    if (o.batch == 0) {
        std::printf(" does not fit |");
    } else {
        std::printf(" %.0f %% (%lld; %.1f GB) |", 100 * o.samples_per_s / ideal, static_cast<long long>(o.batch),
                    o.gigabytes);
    }
    std::fflush(stdout);
}

void row(const char* name, const setting& x) {
    const ts::cluster all(tofu_machine());
    const ts::cluster one(nodes_of("K80", all.class_of(0), 1, 1, {21000, 1000, 0, 0}));
    const ts::graph g = x.of(x.most / 8);
    double weights = 0;
    for (const ts::parameter_node& p : g.parameters) {
        weights += p.trained ? static_cast<double>(p.extents.volume()) * 4e-9 : 0;
    }
    const double ideal =
        8 * static_cast<double>(x.most / 8) / plan_of(x, g.view(), search::single_device(g.view()), one).ms * 1000;
    std::printf("| %s | %.1f | %.1f |", name, 3 * weights, ideal);
    cell(best_of(x, all, 1, [](const ts::graph_view& v) { return tofu(v).best; }), ideal);
    cell(best_of(x, all, 1, [](const ts::graph_view& v) { return tofu(v, search::tofu_count::groups).best; }), ideal);
    cell(best_of(x, all, 1,
                 [](const ts::graph_view& v) {
                     ts::strategy s = search::data_parallel(v, 8);
                     s.sync = ts::schedule::zero(ts::schedule::gradients_of(v), 3);
                     return s;
                 }),
         ideal);
    cell(best_of(x, one, 8, search::single_device), ideal);
    outcome swaps;
    swaps.batch = x.most;
    const ts::plan p = search::bound_plan(g.view(), search::single_device(g.view()), 1, momentum());
    const swapped s = swap_to_host(g.view(), p, one, one.class_of(0).memory_bytes, tofu_host_megabytes / 8);
    if (s.possible) {
        std::printf(" %.1f %% (%lld; %.0f GB swapped) |",
                    100 * static_cast<double>(x.most) / static_cast<double>(s.makespan) * 1e9 / ideal,
                    static_cast<long long>(x.most), 8 * static_cast<double>(s.bytes) * 1e-9);
    } else {
        std::printf(" a task is too large |");
    }
    cell(best_of(x, all, 1, [](const ts::graph_view& v) { return search::operator_placement(v, 1, 8); }), ideal);
    std::printf("\n");
}

void header(const char* title) {
    std::printf(
        "\n%s\n\n| network | weights, gradients and momentum, GB | ideal, samples/s | Tofu | by the paper's count "
        "| data parallel, ZeRO 3 | small batch | swapping | operators placed |\n"
        "|---|---|---|---|---|---|---|---|---|\n",
        title);
}

void fits() {
    std::printf("\n## What fits on 8 K80 of 12 GB, and its throughput\n\n"
                "Ideal: each GPU alone on its eighth of the largest batch, with memory without end, nothing exchanged. "
                "The others: the largest batch, a power "
                "of two, that fits (in parentheses, with the fullest GPU's memory), throughput in %% of ideal. Small "
                "batch: each GPU alone on a batch "
                "that fits, nothing exchanged (as in the paper, in its favour). Swapping: each GPU alone on its eighth "
                "of the largest batch, an eighth "
                "of the host's link each, nothing exchanged.\n");
    header("Wide ResNets, batches up to 128 (ours):");
    for (const int layers : {50, 101, 152}) {
        for (const int wide : {4, 6, 8, 10}) {
            row(("WResNet-" + std::to_string(layers) + "-" + std::to_string(wide)).c_str(),
                {tofu_network::wide_resnet, layers, wide, false, 128});
        }
    }
    for (const bool adds_up : {false, true}) {
        header(adds_up ? "RNNs, batches up to 512 (ours), if gradients of unrolled steps were added up as they come, "
                         "which Tessera's plans do not do:"
                       : "RNNs, batches up to 512 (ours), as Tessera plans them: gradients of all steps are kept until "
                         "they are added up:");
        for (const int layers : {6, 8, 10}) {
            for (const int hidden : {4096, 6144, 8192}) {
                row(("RNN-" + std::to_string(layers) + "-" + std::to_string(hidden / 1024) + "K").c_str(),
                    {[](int a, int b, index_t batch) { return tofu_network::rnn(a, b, batch); }, layers, hidden,
                     adds_up, 512});
            }
        }
    }
}

} // namespace

int main(int count, char** arguments) {
    const auto asked = [&](const char* part) { return count < 2 || std::strcmp(arguments[1], part) == 0; };
    if (asked("fits")) {
        fits();
    }
    if (asked("parts")) {
        parts();
    }
    if (asked("ranks")) {
        ranks();
    }
    if (asked("links")) {
        links();
    }
}
