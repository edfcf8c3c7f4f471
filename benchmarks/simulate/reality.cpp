// SPDX-License-Identifier: Apache-2.0
// The simulator against reality, on this host. In separate processes, for each network (small, lenet5, alexnet, mlp,
// residual, transformer):
//   reality profile NETWORK PROFILE          measures every kind of task of all strategies by itself, and keeps the
//                                            times
//   reality run NETWORK PROFILE RESULTS      predicts every strategy's step from the profile alone, then measures it
//   reality table SVG RESULTS...             errors, rank correlations and the scatter plot of what the runs have
//                                            written
//   reality tasks NETWORK PROFILE STRATEGY   one strategy, task by task
// Three more arguments of run: the first strategy, how many, and seconds each. reality.sh does all this in order.
#include "benchmarks/simulate/cases.hpp"
#include "benchmarks/simulate/report.hpp"
#include "benchmarks/support/timing.hpp"
#include "tessera/backend/host/measure/this_host.hpp"
#include "tessera/simulate/simulate.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace {

namespace ts = tessera;
namespace simulation = tessera::simulation;
using backend = ts::host::backend;

const ts::optimizer& update() {
    static const ts::optimizer how = ts::sgd{.momentum = 0.9F};
    return how;
}

ts::plan bound_plan(backend& b, const ts::graph_view& g, const reality::named& s) {
    ts::lower_options o;
    o.update = update();
    ts::plan p = ts::lower(g, s.how.view(), s.devices, o);
    b.bind(p, g, nullptr);
    ts::finish(g, p);
    return p;
}

int make_profile(const std::string& name, const std::string& file) {
    const ts::graph network = reality::network(name);
    const ts::graph_view g = network.view();
    const ts::local_devices devices(2);
    backend b(update(), ts::host::backend_options{ts::host::tuning::estimate, 0, file});
    for (const int used : {1, 2}) {
        const simulation::thread_costs c = ts::host::thread_costs_of(b, devices, used);
        std::printf("%d device(s): step %lld, device 0 after %lld, others after %lld, notice %lld, dispatch %lld ns, "
                    "pressure %lld/1000\n",
                    used, static_cast<long long>(c.step), static_cast<long long>(c.late),
                    static_cast<long long>(c.hand_over), static_cast<long long>(c.notice),
                    static_cast<long long>(c.dispatch), static_cast<long long>(c.pressure));
    }
    const ts::device_graph machine = ts::host::this_host(b, devices);
    std::printf("%s: %lld, %lld, %lld GFLOP/s, %lld MB/s; from the other thread %lld MB/s\n", machine.name.c_str(),
                static_cast<long long>(machine.classes[0].gigaflops[0]),
                static_cast<long long>(machine.classes[0].gigaflops[1]),
                static_cast<long long>(machine.classes[0].gigaflops[2]),
                static_cast<long long>(machine.classes[0].memory_megabytes),
                static_cast<long long>(machine.links[0].megabytes));
    ts::host::task_clock clock(b, devices.threads(), {.rounds = 2});
    const double begin = ts::seconds_now();
    std::size_t tasks = 0;
    const std::vector<reality::named> all = reality::strategies(g);
    std::vector<ts::plan> plans;
    std::vector<const ts::plan*> every;
    for (const reality::named& s : all) {
        plans.push_back(bound_plan(b, g, s));
        tasks += plans.back().tasks.size();
    }
    for (const ts::plan& p : plans) {
        every.push_back(&p);
    }
    const int kinds = clock.learn(every, g);
    std::printf("%s: %zu strategies, %zu tasks, %d kinds measured in %.1f s\n", name.c_str(), plans.size(), tasks,
                kinds, ts::seconds_now() - begin);
    return 0;
}

/// The busiest device's tasks by the roofline, nothing else: no waits, no transfers between devices.
double busiest_by_roofline(const ts::graph_view& g, const ts::plan& p, const ts::cluster& on) {
    std::vector<double> busy(ts::to_size(p.devices), 0);
    const simulation::task_times roofline{nullptr, ts::host::reached_here()};
    for (const ts::task& t : p.tasks) {
        const ts::description d = t.op >= 0 ? g.describe(t.op) : ts::description{};
        busy[ts::to_size(t.device)] += static_cast<double>(roofline(g, d, p.tiles, t, on.class_of(0)));
    }
    return *std::max_element(busy.begin(), busy.end());
}

struct running {
    reality::result result;
    ts::owned<ts::session<backend>> session;
    std::vector<double> rounds[reality::rounds];
};

int run(const std::string& name, const std::string& file, const std::string& out, int first, int count,
        double seconds) {
    const ts::graph network = reality::network(name);
    const ts::graph_view g = network.view();
    const ts::local_devices devices(2);
    backend b(update(), ts::host::backend_options{ts::host::tuning::estimate, 0, file});
    const std::size_t known = b.measured().size();
    ts::host::task_clock clock(b, devices.threads());
    const simulation::thread_costs costs[2] = {ts::host::thread_costs_of(b, devices, 1),
                                               ts::host::thread_costs_of(b, devices, 2)};
    const ts::cluster on(ts::host::this_host(b, devices));
    const simulation::task_times rooflines{nullptr, ts::host::reached_here()};
    const std::vector<reality::named> all = reality::strategies(g);
    const ts::detail::synthetic_batch<ts::graph_view> data(g);
    std::vector<reality::result> results;
    std::vector<running> group;
    ts::index_t memory = 0;
    const auto measure = [&] {
        for (int round = 0; round < reality::rounds; ++round) {
            for (running& r : group) {
                for (int warm = 0; warm < 2 && (warm == 0 || r.result.seconds_to_execute < 0.3); ++warm) {
                    r.session->step(data.inputs);
                }
                double spent = 0;
                while (spent < seconds / reality::rounds || r.rounds[round].size() < 2) {
                    const double begin = ts::seconds_now();
                    r.session->step(data.inputs);
                    r.rounds[round].push_back(ts::seconds_now() - begin);
                    spent += r.rounds[round].back();
                }
            }
        }
        for (running& r : group) {
            std::vector<double> every[3]; // rounds that count for one half, for the other, all
            double least = 0;
            double most = 0;
            for (int k = 0; k < reality::rounds; ++k) {
                for (const int to : {k % 2, 2}) {
                    every[to].insert(every[to].end(), r.rounds[k].begin(), r.rounds[k].end());
                }
                const double round = benchmarks::lower_quartile(r.rounds[k]) * 1e3;
                least = k == 0 ? round : std::min(least, round);
                most = std::max(most, round);
            }
            r.result.half[0] = benchmarks::lower_quartile(every[0]) * 1e3;
            r.result.half[1] = benchmarks::lower_quartile(every[1]) * 1e3;
            r.result.measured = benchmarks::lower_quartile(every[2]) * 1e3;
            std::printf("%-22s %d  measured %9.4f ms (rounds %.4f to %.4f)  predicted %9.4f  %+6.1f %%\n",
                        r.result.strategy.c_str(), r.result.devices, r.result.measured, least, most,
                        r.result.of[reality::profiled], 100 * (r.result.of[reality::profiled] / r.result.measured - 1));
            results.push_back(r.result);
        }
        std::fflush(stdout);
        group.clear();
        memory = 0;
    };
    for (int i = first; i < static_cast<int>(all.size()) && i < first + count; ++i) {
        const reality::named& s = all[ts::to_size(i)];
        running r;
        const double begin = ts::seconds_now();
        r.session.reset(new ts::session<backend>(g, s.how, s.devices, update(), {}, b, devices.threads()));
        r.session->set_learning_rate(0);
        r.session->step(data.inputs);
        const double built = ts::seconds_now();
        for (int k = 0; k < 5; ++k) {
            r.session->step(data.inputs);
        }
        r.result.seconds_to_execute = ts::seconds_now() - begin;
        r.result.seconds_to_build = built - begin;
        const ts::plan& p = r.session->training_plan();
        const double start = ts::seconds_now();
        const ts::host::plan_times times = clock.times(p, g);
        const double looked_up = ts::seconds_now();
        const simulation::timeline t = simulation::simulate(p, times.tasks, costs[s.devices - 1]);
        r.result.seconds_to_simulate = ts::seconds_now() - looked_up;
        r.result.seconds_to_look_up = looked_up - start;
        if (times.unknown > 0) {
            throw ts::error("the profile lacks " + std::to_string(times.unknown) + " tasks of " + s.name);
        }
        r.result.network = name;
        r.result.strategy = s.name;
        r.result.devices = s.devices;
        r.result.tasks = static_cast<int>(p.tasks.size());
        r.result.of[reality::profiled] = static_cast<double>(t.makespan) * 1e-6;
        ts::plan logical = ts::lower(g, s.how.view(), s.devices, {.update = update()});
        r.result.of[reality::roofline_makespan] =
            static_cast<double>(simulation::simulate(g, logical, on, rooflines).makespan) * 1e-6;
        r.result.of[reality::roofline] = busiest_by_roofline(g, logical, on) * 1e-6;
        r.result.of[reality::bytes] = static_cast<double>(p.moved_bytes) * 1e-6;
        r.result.of[reality::additive] =
            static_cast<double>(ts::cost::total_cost(g, s.how, ts::uniform_machine(on))) * 1e-6;
        for (std::size_t d = 0; d < p.arena_bytes.size(); ++d) {
            memory += p.arena_bytes[d] + p.persistent_bytes[d];
        }
        group.push_back(std::move(r));
        if (memory > (ts::index_t{10} << 30)) {
            measure();
        }
    }
    measure();
    if (b.measured().size() != known) {
        throw ts::error("something was measured for the predictions during the run");
    }
    reality::write(out, results);
    return 0;
}

/// One strategy, predicted and measured, task by task: medians of many runs.
int tasks(const std::string& name, const std::string& file, const std::string& which) {
    const ts::graph network = reality::network(name);
    const ts::graph_view g = network.view();
    const ts::local_devices devices(2);
    backend b(update(), ts::host::backend_options{ts::host::tuning::estimate, 0, file});
    ts::host::task_clock clock(b, devices.threads());
    for (const reality::named& s : reality::strategies(g)) {
        if (s.name != which) {
            continue;
        }
        ts::session<backend> session(g, s.how, s.devices, update(), {}, b, devices.threads());
        session.set_learning_rate(0);
        const ts::detail::synthetic_batch<ts::graph_view> data(g);
        const ts::plan& p = session.training_plan();
        const simulation::timeline t =
            simulation::simulate(p, clock.times(p, g).tasks, ts::host::thread_costs_of(b, devices, s.devices));
        const std::vector<ts::host::plan_times> twice = {clock.times(p, g)};
        std::vector<std::vector<double>> starts(p.tasks.size());
        std::vector<std::vector<double>> lengths(p.tasks.size());
        simulation::timeline m;
        for (int k = 0; k < 60; ++k) {
            session.step(data.inputs, m);
            for (std::size_t i = 0; k > 5 && i < p.tasks.size(); ++i) {
                starts[i].push_back(static_cast<double>(m.tasks[i].start) * 1e-3);
                lengths[i].push_back(static_cast<double>(m.tasks[i].end - m.tasks[i].start) * 1e-3);
            }
        }
        const auto reuses = simulation::reuse_of(p);
        std::printf("us: device, start and time measured, start and time predicted, pressed, task\n");
        double total[2]{};
        for (std::size_t i = 0; i < p.tasks.size(); ++i) {
            const double length = benchmarks::median(lengths[i]);
            const double said = static_cast<double>(t.tasks[i].end - t.tasks[i].start) * 1e-3;
            total[0] += length;
            total[1] += said;
            std::printf("%d %9.2f %8.2f  %9.2f %8.2f %+7.2f p%8.2f  %s\n", p.tasks[i].device,
                        benchmarks::median(starts[i]), length, static_cast<double>(t.tasks[i].start) * 1e-3, said,
                        said - length, static_cast<double>(twice[0].tasks[i].pressed) * 1e-3,
                        clock.name_of(p, static_cast<int>(i), g, reuses[i]).c_str());
        }
        std::printf("all tasks: measured %.1f us, predicted %.1f us; run %.1f us, predicted %.1f us\n", total[0],
                    total[1], static_cast<double>(m.makespan) * 1e-3, static_cast<double>(t.makespan) * 1e-3);
        return 0;
    }
    throw ts::error("there is no strategy " + which);
}

} // namespace

int main(int count, char** arguments) {
    try {
        const std::vector<std::string> a(arguments + 1, arguments + count);
        const auto number = [&](std::size_t i, double otherwise) {
            return a.size() > i ? std::atof(a[i].c_str()) : otherwise;
        };
        if (a.size() == 3 && a[0] == "profile") {
            return make_profile(a[1], a[2]);
        }
        if (a.size() >= 4 && a[0] == "run") {
            return run(a[1], a[2], a[3], static_cast<int>(number(4, 0)), static_cast<int>(number(5, 1000)),
                       number(6, 0.5));
        }
        if (a.size() >= 3 && a[0] == "table") {
            return reality::table(a[1], std::vector<std::string>(a.begin() + 2, a.end()));
        }
        if (a.size() == 4 && a[0] == "tasks") {
            return tasks(a[1], a[2], a[3]);
        }
        std::fprintf(stderr,
                     "reality profile NETWORK PROFILE | run NETWORK PROFILE RESULTS [FIRST COUNT SECONDS] | table "
                     "SVG RESULTS... | tasks NETWORK PROFILE STRATEGY\n");
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
    }
    return 1;
}
