// SPDX-License-Identifier: Apache-2.0
// P3 beside other policies, or compressed gradients beside whole ones, over links of this process that are slowed to
// what gives the papers' ratios of communication to computation: steps measured, and simulated from tasks that were
// measured by themselves and the same links.
//   slow_links [DEVICES [ROUNDS [STEPS [p3 | compressed]]]]     default 2 devices, 9 rounds of 6 steps under every
//   policy and rate, P3
// ratio: what the busiest link carries in a step, under P3 or of whole gradients, over what a step takes without any
// link. All steps of a round follow each other, and the round ends when the last transfer has; policies take turns, and
// the median of their rounds counts. P3's plans are of one step each, as a trainer runs them; the others' are of all
// steps of a round, so that they too may go on where nothing but their order holds them up.
#include "benchmarks/schedules/support.hpp"
#include "benchmarks/support/by_name.hpp"
#include "benchmarks/support/tower.hpp"

namespace {

using namespace schedules;

using benchmarks::tower;

constexpr index_t batch = 32;
constexpr double slice = 50'000; // the paper's
constexpr double ratios[] = {8, 4, 2, 1.5, 1, 0.75, 0.5, 0.25};

struct policy {
    const char* name;
    ts::synchronization messages;
    bool one_step; ///< in a plan
};

/// Policies, and which of them are set against each other.
struct contest {
    std::vector<policy> policies;
    std::size_t reference = 0; ///< whose bytes the rates go by
    struct pair {
        std::size_t first = 0;
        std::size_t over = 0;
    };
    std::vector<pair> pairs;
};

contest contest_of(const ts::graph_view& g, int devices, bool compressed) {
    const std::vector<ts::schedule::ready_gradient> gradients = ts::schedule::gradients_of(g);
    const auto by = [&](const char* name, benchmarks::by_name_options options = {}) {
        return benchmarks::policy_by(name, gradients, devices, options);
    };
    if (compressed) {
        return {{{"buckets", by("buckets"), false},
                 {"8 bits", by("eight-bit-gradients"), false},
                 {"1 bit", by("one-bit-gradients"), false},
                 {"largest of 100", by("top-k-gradients"), false}},
                0,
                {{1, 0}, {2, 0}, {3, 0}}};
    }
    return {{{"blocking", by("blocking-all-reduce"), true},
             {"servers", by("parameter-server"), false},
             {"ByteScheduler", by("byte-scheduler", {{"partition", 2 * slice}, {"credit", 8 * slice}}), false},
             {"P3", by("p3", {{"slice", slice}}), true}},
            3,
            {{3, 0}, {3, 1}, {3, 2}}};
}

struct side {
    ts::owned<ts::session<ts::host::backend>> run;
    std::vector<double> milliseconds; ///< a step, by rounds
    double simulated = 0;
    double measured() const { return benchmarks::median(milliseconds); }
};

/// How much longer than it is told the system lets a thread sleep, ns.
index_t oversleep() {
    std::vector<double> all;
    for (int i = 0; i < 200; ++i) {
        const index_t begin = ts::nanoseconds_now();
        timespec asked{0, 1'000'000};
        nanosleep(&asked, nullptr);
        all.push_back(static_cast<double>(ts::nanoseconds_now() - begin - 1'000'000));
    }
    return static_cast<index_t>(benchmarks::median(all));
}

/// What the simulation of threads says of so many steps over such links.
class prediction {
public:
    prediction(const ts::graph_view& g, int devices, int steps, ts::host::backend& b, const ts::local_devices& team)
        : g_(g), devices_(devices), steps_(steps), backend_(b), clock_(b, team.threads(), {.rounds = 15}),
          costs_(ts::host::thread_costs_of(b, team, devices)), oversleep_(oversleep()) {}

    ts::strategy strategy(const policy& how) const {
        ts::strategy s = ts::search::data_parallel(g_, devices_);
        s.sync = how.messages;
        s.overlap = true;
        s.steps_per_plan = how.one_step ? 1 : steps_;
        return s;
    }
    /// A plan of all steps under a policy, its tasks measured.
    ts::plan plan(const policy& how) {
        ts::strategy s = strategy(how);
        s.steps_per_plan = steps_;
        ts::lower_options o;
        o.update = backend_.update();
        ts::plan p = ts::lower(g_, s.view(), devices_, o);
        backend_.bind(p, g_, nullptr);
        ts::finish(g_, p);
        clock_.learn(p, g_);
        return p;
    }
    double milliseconds(const ts::plan& p, const ts::link_speed& links) const {
        std::vector<simulation::thread_time> times = clock_.times(p, g_).tasks;
        for (std::size_t i = 0; i < times.size(); ++i) {
            const index_t way = links.time_of(p, p.tasks[i]);
            times[i].away = way > 0 ? way + oversleep_ : 0;
        }
        const simulation::timeline t = simulation::simulate(p, times, costs_);
        return static_cast<double>(t.makespan) * 1e-6 / steps_;
    }

private:
    ts::graph_view g_;
    int devices_;
    int steps_;
    ts::host::backend& backend_;
    ts::host::task_clock clock_;
    simulation::thread_costs costs_;
    index_t oversleep_;
};

/// Milliseconds that the busiest list's transfers of a step take at one byte per ns.
double carried(const ts::plan& p, int steps) {
    const ts::link_speed links{1e9, 0};
    double most = 0;
    for (const std::vector<int>& list : p.order) {
        double sum = 0;
        for (const int t : list) {
            sum += static_cast<double>(links.time_of(p, p.tasks[ts::to_size(t)]));
        }
        most = std::max(most, sum);
    }
    return most * 1e-6 / steps;
}

double gain(double other, double mine) { return 100 * (other / mine - 1); }

void sweep(int devices, int rounds, int steps, bool compressed) {
    const ts::local_devices team(devices);
    ts::host::backend b(ts::optimizer(ts::sgd{.momentum = 0.9F}));
    const ts::graph network = ts::describe<tower::network>(batch);
    const ts::graph_view g = network.view();
    const ts::detail::synthetic_batch<ts::graph_view> data(g);
    const std::vector<std::vector<ts::input_data>> batches(
        ts::to_size(steps), std::vector<ts::input_data>(data.inputs.begin(), data.inputs.end()));
    prediction predicted(g, devices, steps, b, team);
    const contest these = contest_of(g, devices, compressed);
    const std::vector<policy>& all = these.policies;
    std::vector<ts::plan> plans;
    for (const policy& p : all) {
        plans.push_back(predicted.plan(p));
    }
    const double alone = predicted.milliseconds(plans.front(), {});
    const double bytes = carried(plans[these.reference], steps) * 1e6; // a step
    std::printf("%ld cores, %d devices, a batch of %d; a step takes %.1f ms without links; the busiest link carries "
                "%.2f MB in it\n\n"
                "| ratio | MB/s |",
                sysconf(_SC_NPROCESSORS_ONLN), devices, static_cast<int>(batch), alone, bytes * 1e-6);
    for (const policy& p : all) {
        std::printf(" %s, ms | simulated |", p.name);
    }
    for (const contest::pair& x : these.pairs) {
        std::printf(" %s over %s, %% | simulated |", all[x.first].name, all[x.over].name);
    }
    std::printf("\n|");
    for (std::size_t i = 0; i < 2 + 2 * all.size() + 2 * these.pairs.size(); ++i) {
        std::printf("---|");
    }
    double error = 0;
    int count = 0;
    for (const double ratio : ratios) {
        const ts::link_speed links{bytes / (ratio * alone * 1e-3), 0};
        std::vector<side> sides(all.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
            ts::session_options o;
            o.links = links;
            sides[i].run.reset(new ts::session<ts::host::backend>(g, predicted.strategy(all[i]), devices, b.update(), o,
                                                                  b, team.threads()));
            sides[i].run->set_learning_rate(0);
            sides[i].simulated = predicted.milliseconds(plans[i], links);
        }
        for (int round = -1; round < rounds; ++round) {
            for (std::size_t k = 0; k < sides.size(); ++k) {
                side& x = sides[(k + ts::to_size(round + 1)) % sides.size()];
                const double took = benchmarks::milliseconds([&] {
                    x.run->steps(batches);
                    x.run->finish();
                });
                if (round >= 0) {
                    x.milliseconds.push_back(took / steps);
                }
            }
        }
        std::printf("\n| %.2f | %.0f |", ratio, links.bytes_per_second * 1e-6);
        for (const side& x : sides) {
            std::printf(" %.1f | %.1f |", x.measured(), x.simulated);
            error += std::abs(x.simulated / x.measured() - 1);
            ++count;
        }
        for (const contest::pair& x : these.pairs) {
            std::printf(" %+.0f | %+.0f |", gain(sides[x.over].measured(), sides[x.first].measured()),
                        gain(sides[x.over].simulated, sides[x.first].simulated));
        }
        std::fflush(stdout);
    }
    std::printf("\n\nmean error of the simulated steps %.1f %%\n", 100 * error / count);
}

} // namespace

int main(int count, char** arguments) {
    try {
        const int devices = count > 1 ? std::atoi(arguments[1]) : 2;
        const int rounds = count > 2 ? std::atoi(arguments[2]) : 9;
        const int steps = count > 3 ? std::atoi(arguments[3]) : 6;
        const std::string what = count > 4 ? arguments[4] : "p3";
        if (devices < 2 || rounds < 1 || steps < 1 || (what != "p3" && what != "compressed")) {
            std::fprintf(stderr,
                         "usage: slow_links [DEVICES [ROUNDS [STEPS [p3 | compressed]]]], two devices or more\n");
            return 2;
        }
        sweep(devices, rounds, steps, what == "compressed");
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
    }
    return 1;
}
