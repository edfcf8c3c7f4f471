// SPDX-License-Identifier: Apache-2.0
// Steps of pipelines on this host, predicted from tasks that were measured by themselves, and measured.
//   step_times [DEVICES [SECONDS]]     default 2 devices, 2 seconds for every pipeline
// The predictions of all pipelines are made before the first of them runs; of tasks and of steps the lower quartile
// counts (see task_clock.hpp).
#include "benchmarks/schedules/support.hpp"
#include "benchmarks/support/by_name.hpp"
#include "examples/networks.hpp"
#include "examples/zoo/unet.hpp"

#include <cmath>
#include <utility>

namespace {

using namespace schedules;

struct prepared {
    std::string network;
    std::string how;
    int micro_batches = 1;
    ts::owned<ts::session<ts::host::backend>> run;
    double predicted = 0;
    std::vector<double> milliseconds; ///< measured
};

} // namespace

int main(int count, char** arguments) {
    try {
        const int devices = count > 1 ? std::atoi(arguments[1]) : 2;
        const double seconds = count > 2 ? std::atof(arguments[2]) : 2;
        const ts::local_devices team(devices);
        ts::host::backend b(ts::optimizer(ts::sgd{.momentum = 0.9F}));
        const ts::device_class on = ts::machines::this_host(2).classes[0];
        const simulation::thread_costs costs = ts::host::thread_costs_of(b, team, devices);
        ts::host::task_clock clock(b, team.threads(), {.rounds = 15});
        const std::pair<const char*, ts::graph> networks[] = {
            {"U-Net 64x64, batch 16", ts::describe<networks::padded_unet<64, 3, 2, 8, 3>>(16)},
            {"LeNet-5, batch 256", ts::describe<networks::lenet5>(256)}};
        std::vector<prepared> all;
        for (const auto& [name, network] : networks) {
            const ts::graph_view g = network.view();
            const std::size_t first = all.size();
            std::vector<const ts::plan*> plans;
            for (const int m : {2, 4, 8}) {
                const test_support::scheduled kinds[] = {
                    {"GPipe", benchmarks::schedule_by("gpipe", devices, m), false},
                    {"GPipe, re-materialization", benchmarks::schedule_by("gpipe", devices, m), true},
                    {"1F1B", benchmarks::schedule_by("1f1b", devices, m), false},
                    {"GEMS", benchmarks::schedule_by("gems", devices, m), false}};
                for (const test_support::scheduled& x : kinds) {
                    prepared p{name, x.name, m, {}, 0, {}};
                    p.run.reset(new ts::session<ts::host::backend>(g, test_support::pipeline_of(g, x, on), devices,
                                                                   b.update(), {}, b, team.threads()));
                    p.run->set_learning_rate(0);
                    plans.push_back(&p.run->training_plan());
                    all.push_back(std::move(p));
                }
            }
            clock.learn(plans, g);
            for (std::size_t i = 0; i < plans.size(); ++i) {
                all[first + i].predicted =
                    static_cast<double>(
                        simulation::simulate(*plans[i], clock.times(*plans[i], g).tasks, costs).makespan) *
                    1e-6;
            }
        }
        std::printf("%ld cores, %d devices\n\n| network | schedule | micro-batches | predicted, ms | measured, ms | "
                    "error |\n|---|---|---|---|---|---|\n",
                    sysconf(_SC_NPROCESSORS_ONLN), devices);
        double sum = 0;
        double worst = 0;
        int inside = 0;
        constexpr int rounds = 6; // all take turns, so that a slow moment of the machine meets all
        for (int round = 0; round < rounds; ++round) {
            for (prepared& p : all) {
                const ts::detail::synthetic_batch<ts::graph_view> data(p.run->graph_of());
                p.run->step(data.inputs);
                const double begin = ts::seconds_now();
                for (int k = 0; k < 2 || ts::seconds_now() - begin < seconds / rounds; ++k) {
                    p.milliseconds.push_back(benchmarks::milliseconds([&] { p.run->step(data.inputs); }));
                }
            }
        }
        for (const prepared& p : all) {
            const double measured = benchmarks::lower_quartile(p.milliseconds);
            const double error = p.predicted / measured - 1;
            sum += std::abs(error);
            worst = std::max(worst, std::abs(error));
            inside += std::abs(error) <= 0.15 ? 1 : 0;
            std::printf("| %s | %s | %d | %.3f | %.3f | %+.1f %% |\n", p.network.c_str(), p.how.c_str(),
                        p.micro_batches, p.predicted, measured, 100 * error);
        }
        std::printf("\nmean error %.1f %%, largest %.1f %%; %d of %zu within 15 %%\n",
                    100 * sum / static_cast<double>(all.size()), 100 * worst, inside, all.size());
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
    }
    return 1;
}
