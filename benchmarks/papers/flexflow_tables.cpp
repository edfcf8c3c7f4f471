// SPDX-License-Identifier: Apache-2.0
// FlexFlow's evaluation (Jia, Zaharia and Aiken, MLSys 2019) on the simulated P100 and K80 clusters, as Markdown:
// speed-up over data parallelism and strategies by hand (the paper's experts), and the traffic of NMT, beside the
// paper's figures; and what less traffic costs in time. Arguments: million activities of a chain of the search, and a
// part of a network's name, or "prices".
#include "benchmarks/papers/support.hpp"
#include "examples/zoo/inception.hpp"
#include "examples/zoo/recurrent.hpp"
#include "examples/zoo/residual.hpp"

#include <cstdlib>

namespace {

using namespace papers;

double work = 5;
std::string only;

/// 64 samples per device, AlexNet 256 (the paper's table 3; per device as in its scripts).
template <class Net>
void network(const char* name, bool recurrent, index_t per_device) {
    if (std::string(name).find(only) == std::string::npos) {
        return;
    }
    for (const int which : {0, 1, 2, 3}) {
        constexpr int gpus[] = {4, 16, 16, 64};
        const int n = gpus[which];
        const bool p100 = which < 2;
        const ts::cluster on(p100 ? ts::machines::p100_nodes(n / 4) : ts::machines::k80_nodes(n / 4));
        const ts::graph g = ts::describe<Net>(per_device * n);
        const ts::graph_view v = g.view();
        for (const bool collectives : {true, false}) {
            ts::simulation::task_times times;
            times.collectives = collectives;
            std::vector<row> rows;
            rows.push_back(row_of("data", v, on, times));
            const ts::strategy by_hand = found_by(recurrent ? "placement" : "one-weird-trick", v, on);
            rows.push_back(make_row(v, on, "by hand", by_hand, times));
            rows.push_back(make_row(v, on, "channels within nodes", found_by("mesh", v, on), times));
            if (!recurrent) {
                rows.push_back(make_row(v, on, "OptCNN", search::optcnn(v, ts::uniform_machine(on)), times));
            }
            const step central = simulated(v, found_by("central-copy", v, on), on, times);
            const row found = searched(v, on, rows, work, times);
            std::printf("| %s | %s | %d | %s |", name, p100 ? "P100" : "K80", n,
                        collectives ? "collectives" : "servers");
            std::printf(" %.1f / %.2f |", central.ms, central.moved_gb);
            const auto cell = [](const step& x) {
                std::printf(" %.1f / %.2f / %.2f |", x.ms, x.moved_gb, x.between_gb);
            };
            cell(rows[0].is);
            cell(rows[1].is);
            cell(found.is);
            std::printf(" %.2f | %.2f | %.2f | %.1f / %.1f / %.1f | %s |\n", central.ms / found.is.ms,
                        rows[0].is.ms / found.is.ms, rows[1].is.ms / found.is.ms, rows[0].is.compute_ms * 1e-3,
                        rows[1].is.compute_ms * 1e-3, found.is.compute_ms * 1e-3, found.name.c_str());
            std::fflush(stdout);
        }
    }
}

/// NMT on 64 K80 with servers, searched with bytes at several prices: how much time less traffic costs. What was found
/// at a higher price is a start at a lower one.
void prices() {
    const ts::cluster on(ts::machines::k80_nodes(16));
    const ts::graph g = ts::describe<networks::nmt>(64 * 64);
    const ts::graph_view v = g.view();
    ts::simulation::task_times times;
    times.collectives = false;
    std::vector<row> known = {row_of("data", v, on, times),
                              make_row(v, on, "by hand", found_by("placement", v, on), times),
                              make_row(v, on, "channels within nodes", found_by("mesh", v, on), times)};
    std::printf("\n### What less traffic costs: NMT on 64 K80, gradients by servers\n\n"
                "| strategy | ms per GB | ms per step | GB between devices | of them between nodes | search |\n"
                "|---|---|---|---|---|---|\n");
    const auto print = [](const char* name, const char* price, const step& x, const char* how) {
        std::printf("| %s | %s | %.1f | %.2f | %.2f | %s |\n", name, price, x.ms, x.moved_gb, x.between_gb, how);
        std::fflush(stdout);
    };
    print("data parallel", "", known[0].is, "");
    print("by hand", "", known[1].is, "");
    for (const double price : {50.0, 20.0, 5.0, 0.0}) {
        const row found = searched(v, on, known, work, times, price);
        char text[20];
        std::snprintf(text, sizeof(text), "%g", price);
        print("found", text, found.is, found.name.c_str());
        known.push_back({std::string("at ") + text, found.value, found.is});
    }
}

} // namespace

int main(int count, char** arguments) {
    work = count > 1 ? std::atof(arguments[1]) : work;
    only = count > 2 ? arguments[2] : "";
    if (only.empty()) {
        std::printf("## FlexFlow on P100 and K80 nodes, simulated\n\n"
                    "64 samples per GPU (AlexNet 256). Gradients by the best collective (hierarchical, overlapped), or "
                    "by servers: every GPU serves a "
                    "slice of every parameter to all others, as the papers' runtimes did. Cells: ms per step / GB that "
                    "cross between devices / of them between nodes (central copy: without the last). By hand, as "
                    "the papers' experts: "
                    "one weird trick for images; for sequences data parallel across nodes, layers placed within. "
                    "Central copy: data parallelism over one "
                    "GPU's parameters. The search: MCMC with at most %g million activities a chain, first "
                    "on parts of the machine, from the fastest "
                    "of data parallel, by hand, channels split within nodes, (images) OptCNN and what was found on "
                    "parts; last column: what it began with on the whole machine, its proposals and time. Gains of "
                    "what it found; compute of all devices together in s: data parallel "
                    "/ by hand / found.\n\n"
                    "| network | GPU | number | gradients by | central copy | data parallel | by hand | found | gain "
                    "over central | over data | over by hand | "
                    "compute s | search |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
                    work);
    }
    network<networks::alexnet>("AlexNet", false, 256);
    network<networks::inception_v3>("Inception-v3", false, 64);
    network<networks::resnet101>("ResNet-101", false, 64);
    network<networks::rnntc>("RNNTC", true, 64);
    network<networks::rnnlm>("RNNLM", true, 64);
    network<networks::nmt>("NMT", true, 64);
    if (only.empty() || only == "prices") {
        prices();
    }
    if (only.empty()) {
        std::printf(
            "\nThe paper (section 8.2): 1.3 to 3.3 times the throughput of data parallelism and of the experts on five "
            "of the six, "
            "ResNet-101 about that of data parallelism. NMT on 64 K80: 65.8 GB per step data parallel, 24.2 expert, "
            "12.1 FlexFlow; "
            "compute 35.7, 28.2 and 28.7 s of all devices; steps 1.9, 2.6 and 1.1 s (the steps are recalled).\n");
        std::printf("\nWhat differs: with collectives that overlap the backward pass, data parallelism on these "
                    "clusters hides nearly all of its "
                    "traffic in the simulator, and there is\nlittle left to gain: the best all-reduce crosses each "
                    "node's link once. The papers' runtimes "
                    "sent every GPU's gradients to servers and parameters back (OptCNN,\nsection 4; the details are "
                    "recalled). Bytes of data parallelism "
                    "follow from the parameters: NMT's, there and back, are the paper's 65.8 GB to a few per cent. "
                    "Steps of\nnearly the same time move very "
                    "different bytes, and a search that minds time alone takes any of them; the last table gives bytes "
                    "a price. Compute is a roofline "
                    "at assumed\nefficiencies; the papers measured cuDNN kernels.\n");
    }
}
