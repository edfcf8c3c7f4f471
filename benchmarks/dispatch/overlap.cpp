// SPDX-License-Identifier: Apache-2.0
// Communication beside computation on this host: the same strategy with its communication among the computation and on
// streams of its own, in turns in one run; what the simulation of threads predicts of both.
//   overlap [DEVICES [SECONDS]]     default 2 devices, 3 seconds for every strategy
// ratio: among / beside, above 1 where the stream gains. hidden: share of the stream's time during which its device
// computes.
#include "benchmarks/support/timing.hpp"
#include "examples/networks.hpp"
#include "support/high_water.hpp"
#include "tessera/backend/host/measure/this_host.hpp"
#include "tessera/host.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/search/by_hand/baselines.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

namespace ts = tessera;
namespace simulation = tessera::simulation;
using backend = ts::host::backend;
using ts::index_t;

struct layers {
    struct fc1 : ts::linear<1024> {};
    struct fc2 : ts::linear<1024> {};
    struct fc3 : ts::linear<10> {};
};
struct mlp
    : ts::sequential<ts::features<1024>, layers::fc1, ts::relu, layers::fc2, ts::relu, layers::fc3, ts::cross_entropy> {
};

/// Nanoseconds that communication streams work, and of them those during which the device's computation works too.
struct hidden_time {
    index_t all = 0;
    index_t hidden = 0;
};

hidden_time hidden_in(const ts::plan& p, const simulation::timeline& t) {
    hidden_time h;
    for (int d = 0; d < p.devices && p.streams > 1; ++d) {
        for (const int c : p.order[ts::to_size(d + p.devices)]) {
            const simulation::task_span& x = t.tasks[ts::to_size(c)];
            h.all += x.end - x.start;
            for (const int k : p.order[ts::to_size(d)]) {
                const simulation::task_span& y = t.tasks[ts::to_size(k)];
                h.hidden += std::max<index_t>(0, std::min(x.end, y.end) - std::max(x.start, y.start));
            }
        }
    }
    return h;
}

struct side {
    ts::owned<ts::session<backend>> session;
    std::vector<double> seconds;
    double predicted = 0;
};

void compare(const std::string& name, const ts::graph& network, const std::string& how, ts::strategy s, int devices,
             double seconds, backend& b, const ts::local_devices& team) {
    const ts::graph_view g = network.view();
    const ts::detail::synthetic_batch<ts::graph_view> data(g);
    ts::host::task_clock clock(b, team.threads(), {.rounds = 5});
    const simulation::thread_costs costs = ts::host::thread_costs_of(b, team, devices);
    side sides[2];
    for (const bool beside : {false, true}) {
        s.overlap = beside;
        side& x = sides[beside ? 1 : 0];
        x.session.reset(new ts::session<backend>(g, s, devices, b.update(), {}, b, team.threads()));
        x.session->set_learning_rate(0);
        const ts::plan& p = x.session->training_plan();
        clock.learn(p, g);
        x.predicted = static_cast<double>(simulation::simulate(p, clock.times(p, g).tasks, costs).makespan) * 1e-6;
    }
    for (const side& x : sides) {
        for (int warm = 0; warm < 3; ++warm) {
            x.session->step(data.inputs);
        }
    }
    const double begin = ts::seconds_now();
    for (int round = 0; ts::seconds_now() - begin < seconds || round < 8; ++round) {
        for (const int which : {round % 2, 1 - round % 2}) { // neither always goes first
            for (int k = 0; k < 4; ++k) {
                const double before = ts::seconds_now();
                sides[which].session->step(data.inputs);
                sides[which].seconds.push_back(ts::seconds_now() - before);
            }
        }
    }
    std::vector<double> share;
    std::vector<double> stream;
    for (int k = 0; k < 9; ++k) {
        simulation::timeline t;
        sides[1].session->step(data.inputs, t);
        const hidden_time h = hidden_in(sides[1].session->training_plan(), t);
        share.push_back(static_cast<double>(h.hidden) / static_cast<double>(std::max<index_t>(1, h.all)));
        stream.push_back(static_cast<double>(h.all) * 1e-6 / devices);
    }
    const double among = benchmarks::median(sides[0].seconds) * 1e3;
    const double beside = benchmarks::median(sides[1].seconds) * 1e3;
    std::printf("| %s | %s | %d | %.3f | %.3f | %.3f | %.3f | %.0f %% | %.3f | %.3f | %.3f |\n", name.c_str(),
                how.c_str(), devices, among, beside, among / beside, benchmarks::median(stream),
                100 * benchmarks::median(share), sides[0].predicted, sides[1].predicted,
                sides[0].predicted / sides[1].predicted);
    std::fflush(stdout);
}

} // namespace

int main(int count, char** arguments) {
    try {
        const int devices = count > 1 ? std::atoi(arguments[1]) : 2;
        const double seconds = count > 2 ? std::atof(arguments[2]) : 3;
        const ts::local_devices team(devices);
        backend b(ts::sgd{.momentum = 0.9F});
        std::printf("%ld cores; threads of a run with streams: %d\n\n", sysconf(_SC_NPROCESSORS_ONLN), 2 * devices);
        std::printf(
            "| network | strategy | devices | among, ms | beside, ms | ratio | on the stream, ms a device | hidden | "
            "predicted among, ms | predicted beside, ms | predicted ratio |\n"
            "|---|---|---|---|---|---|---|---|---|---|---|\n");
        const ts::device_class on = ts::machines::this_host(devices).classes[0];
        const std::pair<const char*, ts::graph> networks[] = {{"LeNet-5, batch 64", ts::describe<networks::lenet5>(64)},
                                                              {"MLP, batch 64", ts::describe<mlp>(64)},
                                                              {"AlexNet, batch 8", ts::describe<networks::alexnet>(8)}};
        for (const auto& [name, network] : networks) {
            const ts::graph_view g = network.view();
            compare(name, network, "data parallel", ts::search::data_parallel(g, devices), devices, seconds, b, team);
            compare(name, network, "model parallel", ts::search::model_parallel(g, devices), devices, seconds, b, team);
            compare(name, network, "1F1B, 4 micro-batches",
                    test_support::pipeline_of(g, {"", ts::schedule::one_forward_one_backward(devices, 4), false}, on),
                    devices, seconds, b, team);
        }
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
    }
    return 1;
}
