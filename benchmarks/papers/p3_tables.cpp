// SPDX-License-Identifier: Apache-2.0
// P3 (Jayarajan et al. 2019, arXiv 1905.03960) in the simulator, as Markdown: throughput of four networks over
// bandwidths, with MXNet's servers, with slices alone, and with priorities. Usage: p3_tables [anything: the table with
// a fitted constant alone]
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

/// ms of the three systems.
struct row {
    double ms[3] = {};
    double gain(p3_system which) const { return 100 * (ms[0] / ms[static_cast<int>(which)] - 1); }
};
row run(const workers& w, double gigabits, index_t served) {
    const ts::cluster on(throttled_nodes(machines, gigabits));
    row r;
    for (const p3_system which : {p3_system::servers, p3_system::slices, p3_system::priorities}) {
        r.ms[static_cast<int>(which)] = p3_ms(w, p3_policy(w, which), on, served);
    }
    return r;
}

best_gain network(const char* name, const workers& w) {
    best_gain best;
    const double alone = w.alone_ms();
    for (const double gigabits : bandwidths) {
        const row r = run(w, gigabits, mxnet_server);
        const double gain = r.gain(p3_system::priorities);
        best = gain > best.gain ? best_gain{gain, gigabits} : best;
        const auto rate = [](double t) { return machines * batch / t * 1000; };
        std::printf("| %s | %.0f | %.0f | %.0f | %.0f | %+.0f | %+.0f | %.0f |\n", name, gigabits, rate(r.ms[0]),
                    rate(r.ms[1]), rate(r.ms[2]), r.gain(p3_system::slices), gain, rate(alone));
        std::fflush(stdout);
    }
    return best;
}

void tables(const workers& resnet, const workers& inception, const workers& vgg, const workers& sockeye) {
    std::printf("## P3\n\n4 machines with one P4000 and one co-located server each, 32 samples per machine; steps of a "
                "steady run (plans of 6 steps less "
                "plans of 2: no barrier between steps).\nServers take gradients in at 2.56 GB/s (one published datum: "
                "780 us for 2 MB, apache/mxnet#14485). Samples/s; the last "
                "column: 4 GPUs without communication.\n3 x 3 convolutions take 4/9 of their multiplications "
                "(Winograd). Nothing fitted.\n\n"
                "| network | Gb/s | MXNet's servers | slices alone | P3 | slices, %% | P3, %% | no communication |\n"
                "|---|---|---|---|---|---|---|---|\n");
    const best_gain of_resnet = network("ResNet-50", resnet);
    const best_gain of_inception = network("Inception-v3", inception);
    const best_gain of_vgg = network("VGG-19", vgg);
    const best_gain of_sockeye = network("Sockeye-like", sockeye);
    std::printf(
        "\n| network | greatest gain, paper | at Gb/s | greatest gain, simulated | at Gb/s |\n|---|---|---|---|---|\n");
    const auto greatest = [](const char* name, const char* paper, const char* at, const best_gain& b) {
        std::printf("| %s | %s | %s | %+.0f %% | %.0f |\n", name, paper, at, b.gain, b.at);
    };
    greatest("ResNet-50", "+25 % (+26 % at 4 Gb/s)", "4", of_resnet);
    greatest("Inception-v3", "about +18 % (recalled, unproven)", "", of_inception);
    greatest("VGG-19", "+66 %", "15", of_vgg);
    greatest("Sockeye-like (LSTM 2:2, 512 hidden, 30 steps, 17,000 words)", "+38 %", "", of_sockeye);
}

/// The paper's row: what the order of messages is worth, and what would make the gain the paper's.
void resnet_at_four(const workers& resnet) {
    constexpr double gigabits = 4;
    constexpr double paper = 26;
    const ts::cluster on(throttled_nodes(machines, gigabits));
    const auto ms = [&](const ts::synchronization& how) { return p3_ms(resnet, how, on); };
    const double servers = ms(p3_policy(resnet, p3_system::servers));
    std::printf(
        "\nResNet-50 at 4 Gb/s: what decides which slice goes next.\n\n| slices go | ms | gain, %% |\n|---|---|---|\n"
        "| (MXNet's servers: whole gradients in the plan's order) | %.1f | |\n",
        servers);
    const auto order = [&](const char* name, const ts::synchronization& how) {
        const double mine = ms(how);
        std::printf("| %s | %.1f | %+.1f |\n", name, mine, 100 * (servers / mine - 1));
    };
    const auto fixed = [](ts::synchronization s) {
        s.urgent_first = false;
        return s;
    };
    const auto plain = schedule::gradients_of(resnet.view());
    const double card = gigabits / 8 * machines / (2.0 * (machines - 1)); // bytes per ns; pushes and pulls share it
    order("in an order made for the default speeds, 10^12 FLOP/s and 1 GB/s", fixed(policy_by("p3", plain, machines)));
    order("in an order made for the simulated speeds",
          fixed(policy_by("p3", resnet.gradients(), machines, {}, {1, card})));
    order("as p3() makes it: of what is ready at run time, the most urgent first", policy_by("p3", plain, machines));
    std::printf("\nThe same, where one thing is other than assumed; the paper has %+.0f %%.\n\n"
                "| assumed | P3, %% | off |\n|---|---|---|\n",
                paper);
    const auto assumed = [&](const std::string& what, const workers& w, const ts::cluster& links, index_t served) {
        const double gain = 100 * (p3_ms(w, p3_policy(w, p3_system::servers), links, served) /
                                       p3_ms(w, p3_policy(w, p3_system::priorities), links, served) -
                                   1);
        std::printf("| %s | %+.1f | %+.0f %% |\n", what.c_str(), gain, 100 * (gain / paper - 1));
    };
    assumed("nothing else", resnet, on, mxnet_server);
    for (const int percent : {90, 80, 70}) {
        ts::device_class slower = p4000();
        for (index_t& rate : slower.gigaflops) {
            rate = rate * percent / 100;
        }
        const workers w(ts::describe<networks::resnet50>(batch), machines, slower);
        char name[80];
        std::snprintf(name, sizeof name, "P4000s reach %d %% of it: %.0f images/s each", percent,
                      batch / w.alone_ms() * 1e3);
        assumed(name, w, on, mxnet_server);
    }
    for (const double rate : {3.6, 3.2}) {
        assumed("links carry " + std::to_string(rate).substr(0, 3) + " Gb/s", resnet,
                ts::cluster(throttled_nodes(machines, rate)), mxnet_server);
    }
    for (const index_t us : {100, 400}) {
        assumed("links with a latency of " + std::to_string(us) + " us", resnet,
                ts::cluster(nodes_of("P4000 nodes", p4000(), machines, 1, {12000, 1000, 500, us * 1000})),
                mxnet_server);
    }
    for (const index_t served : {1000, 500}) {
        assumed("servers take " + std::to_string(served) + " MB/s in", resnet, on, served);
    }
}

} // namespace

int main(int count, char**) {
    const workers resnet(ts::describe<networks::resnet50>(batch), machines, p4000());
    const workers inception(ts::describe<networks::inception_v3>(batch), machines, p4000());
    const workers vgg(ts::describe<networks::vgg19>(batch), machines, p4000());
    const workers sockeye(ts::describe<networks::nmt_parts<30, 512, 17000>::network>(batch), machines, p4000());
    if (count == 1) {
        tables(resnet, inception, vgg, sockeye);
        resnet_at_four(resnet);
    }
    // The one constant that the paper does not give, on one row: the fastest servers with which VGG-19 gains as much,
    // or the most.
    double served = mxnet_server;
    double most = 0;
    for (double rate = mxnet_server; rate > 800 && most < 66; rate *= 0.95) {
        const double gain = run(vgg, 15, static_cast<index_t>(rate)).gain(p3_system::priorities);
        served = gain > most ? rate : served;
        most = std::max(most, gain);
    }
    std::printf("\nWith servers that take gradients in at %.2f GB/s, fitted on VGG-19's gain at 15 Gb/s, as a "
                "prediction of the others:\n\n"
                "| network | Gb/s | slices, paper | slices, %% | P3, paper | P3, %% |\n|---|---|---|---|---|---|\n",
                served / 1000);
    const auto predicted = [&](const char* name, const workers& w, double gigabits, const char* sliced,
                               const char* paper) {
        const row r = run(w, gigabits, static_cast<index_t>(served));
        std::printf("| %s | %.0f | %s | %+.0f | %s | %+.0f |\n", name, gigabits, sliced, r.gain(p3_system::slices),
                    paper, r.gain(p3_system::priorities));
        std::fflush(stdout);
    };
    predicted("VGG-19", vgg, 15, "", "+66 (fitted)");
    predicted("VGG-19", vgg, 30, "+49", "");
    predicted("ResNet-50", resnet, 4, "", "+26");
    predicted("Inception-v3", inception, 4, "", "");
    predicted("Sockeye-like", sockeye, 4, "", "+38 at its best");
    std::printf(
        "\n"
        "What differs: with the one published rate of a server nothing is fitted. Where the link is the "
        "bottleneck P3 takes it whole. With four machines a gain\n"
        "cannot be more than the servers' step over that without communication (the two columns of the table), "
        "which bounds VGG-19's at 15 and 30 Gb/s below the\n"
        "paper's; what else held up MXNet's servers at 30 Gb/s (one thread of ps-lite that copies messages, "
        "copies between GPU and host) is not modelled.\n"
        "ResNet-50's gain at 4 Gb/s is the paper's where its GPUs reach 70 %% of what the rooflines say: under P3 "
        "a step is as long as they compute.\n"
        "Slower links, latency and slower servers do not explain it. At 25 Gb/s Sockeye gains about what the paper "
        "says; "
        "below, less: gradients of its unrolled\n"
        "cells are complete only when backward has gone through all steps.\n");
}
