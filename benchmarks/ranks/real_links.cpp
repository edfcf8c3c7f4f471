// SPDX-License-Identifier: Apache-2.0
// Policies over real links between nodes, slowed to what gives the papers' ratios of communication to computation:
// steps measured, the bytes that have left the nodes beside those of the plans, and steps simulated from tasks that
// were measured by themselves and the links' rates.
//
//     tests/ranks/links.py --mpi ompi-c --nodes 2 build/release/benchmarks/ranks/real_links [ROUNDS [STEPS]]
//
// Strategies: data parallelism under five policies, GPipe (a stage on each node, which is HyPar-Flow's hybrid with one
// replica of each), and what OptCNN's search finds for the link, with blocking sums and with P3.
//
// Each node has one device. ratio: what the busier node sends in a step under P3, over what a step takes without any
// link. All steps of a round follow each other, and the round ends when the last transfer has; policies take turns, and
// the median of their rounds counts.
#include "benchmarks/support/by_name.hpp"
#include "benchmarks/support/links.hpp"
#include "benchmarks/support/timing.hpp"
#include "benchmarks/support/tower.hpp"
#include "examples/networks.hpp"

#include <tessera/backend/host/measure/this_host.hpp>
#include <tessera/host.hpp>
#include <tessera/ranks/mpi.hpp>
#include <tessera/search/by_hand/baselines.hpp>
#include <tessera/search/pipeline.hpp>
#include <tessera/simulate/threads.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <sched.h>
#include <unistd.h>

namespace ts = tessera;
namespace simulation = tessera::simulation;
using ts::index_t;

namespace {

constexpr double slice = 50'000; // P3's, of the paper
constexpr double ratios[] = {4, 2, 1.5, 1, 0.5, 0.25};

struct candidate {
    const char* name;
    ts::strategy how;
    bool one_step; ///< in a plan, else all of a round
};

/// Those that are the same for every rate, P3 and then blocking sums last.
std::vector<candidate> candidates(const ts::graph_view& g, int devices) {
    const std::vector<ts::schedule::ready_gradient> gradients = ts::schedule::gradients_of(g);
    const ts::strategy data = ts::search::data_parallel(g, devices);
    const auto by = [&](const char* name, benchmarks::by_name_options options = {}) {
        return benchmarks::with(data, benchmarks::policy_by(name, gradients, devices, options));
    };
    return {{"GPipe", ts::search::hypar_flow(g, {"core", {100, 100, 100}, 10'000}, devices, 1, 4), true},
            {"ring, fused (Horovod)", by("tensor-fusion"), true},
            {"servers", by("parameter-server"), false},
            {"ByteScheduler", by("byte-scheduler", {{"partition", 2 * slice}, {"credit", 8 * slice}}), false},
            {"P3", by("p3", {{"slice", slice}}), false},
            {"blocking", by("blocking-all-reduce"), true}};
}

/// What OptCNN's search finds there, with blocking sums and with P3.
std::vector<candidate> searched(const ts::graph_view& g, const ts::cluster& on) {
    const std::vector<ts::schedule::ready_gradient> gradients = ts::schedule::gradients_of(g);
    const ts::strategy found = benchmarks::found_by("optcnn", g, on);
    return {{"OptCNN", benchmarks::with(found, benchmarks::policy_by("blocking-all-reduce", gradients, on.devices())),
             true},
            {"OptCNN, P3",
             benchmarks::with(found, benchmarks::policy_by("p3", gradients, on.devices(), {{"slice", slice}})), false}};
}

/// What a link gives, and takes, at the rate that is set: remote writes go both ways, so many at a time, by a thread
/// that packs, probes, copies and waits as that of the ranks does, beside one that computes. Bytes per second each way,
/// and seconds of a core for a byte, on both sides together: what the one that computes has lost.
struct link_figures {
    double bytes_per_second = 0;
    double core_seconds_per_byte = 0;
};
constexpr int letter_size = 56 << 10;

/// So many remote writes each way; returns bytes per second.
double exchange(int peer, int letters, int at_a_time) {
    constexpr int tag = 1;
    std::vector<std::byte> from(letter_size), to(letter_size);
    struct sent {
        std::vector<std::byte> bytes;
        MPI_Request request;
    };
    std::deque<sent> out;
    const double begin = ts::seconds_now();
    std::int64_t idle_since = ts::nanoseconds_now();
    for (int posted = 0, come = 0, gone = 0; come < letters || gone < letters;) {
        bool busy = false;
        for (; posted < letters && posted < std::min(come, gone) + at_a_time; ++posted, busy = true) {
            out.push_back({from, MPI_REQUEST_NULL});
            MPI_Isend(out.back().bytes.data(), letter_size, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &out.back().request);
        }
        for (int done = 1; !out.empty() && done != 0;) {
            MPI_Test(&out.front().request, &done, MPI_STATUS_IGNORE);
            if (done != 0) {
                out.pop_front();
                ++gone;
                busy = true;
            }
        }
        int there = 0;
        MPI_Message which = MPI_MESSAGE_NULL;
        MPI_Improbe(peer, tag, MPI_COMM_WORLD, &there, &which, MPI_STATUS_IGNORE);
        if (there != 0) {
            std::vector<std::byte> in(letter_size);
            MPI_Mrecv(in.data(), letter_size, MPI_BYTE, &which, MPI_STATUS_IGNORE);
            to = in;
            ++come;
            busy = true;
        }
        idle_since = busy ? ts::nanoseconds_now() : idle_since;
        if (ts::nanoseconds_now() - idle_since > 10'000) {
            ts::detail::nap(idle_since);
        }
    }
    return letters * static_cast<double>(letter_size) / (ts::seconds_now() - begin);
}

/// Passes over a megabyte in a second, for 0.2 s or until `stop`.
double passes_per_second(const std::atomic<bool>* stop) {
    std::vector<float> numbers(1 << 18, 1.0F);
    const double begin = ts::seconds_now();
    double passes = 0;
    for (; stop != nullptr ? !stop->load() : ts::seconds_now() - begin < 0.2; ++passes) {
        for (float& x : numbers) {
            x = x * 0.5F + 0.5F;
        }
    }
    return passes / (ts::seconds_now() - begin);
}

link_figures measured_link(int rank, double rate, int at_a_time) {
    constexpr int rounds = 3;
    double lost = 0;
    double reached = 0;
    for (int round = 0; round < rounds; ++round) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double alone = passes_per_second(nullptr);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank >= 2) {
            continue;
        }
        std::atomic<bool> stop{false};
        std::thread letters([&] {
            const auto count = static_cast<int>(0.2 * rate / letter_size);
            reached += exchange(1 - rank, std::max(60, count), at_a_time) / rounds;
            stop = true;
        });
        lost += std::max(0.0, 1 - passes_per_second(&stop) / alone) / rounds;
        letters.join();
    }
    const double all = benchmarks::sum_over_nodes(rank < 2 ? lost : 0);
    link_figures f;
    f.bytes_per_second = benchmarks::of_first(reached);
    f.core_seconds_per_byte = f.bytes_per_second > 0 ? all / (2 * f.bytes_per_second) : 0;
    return f;
}

/// A strategy's plan of all steps of a round (of one, of a pipeline), and what the simulation says of it.
struct prediction {
    ts::plan p;
    ts::node_traffic traffic;
    std::vector<simulation::thread_time> times; ///< on the first rank
    double letters = 0;                         ///< bytes of a step, from all nodes
    int steps = 1;                              ///< of the plan
    bool is_urgent = false; ///< its remote writes have priorities, and few are on their way at a time

    double milliseconds(const simulation::thread_costs& costs, int nodes, const link_figures& link,
                        index_t latency) const {
        return static_cast<double>(simulation::simulate(p, times, costs, &links(nodes, link, latency)).makespan) *
               1e-6 / steps;
    }

private:
    simulation::node_links& links(int nodes, const link_figures& link, index_t latency) const {
        links_.traffic = &traffic;
        links_.nodes = nodes;
        links_.node_of.resize(ts::to_size(nodes));
        std::iota(links_.node_of.begin(), links_.node_of.end(), 0);
        links_.bytes_per_second = link.bytes_per_second;
        links_.latency = latency;
        links_.header_bytes = 200; // header and rows
        links_.core_seconds_per_byte = link.core_seconds_per_byte;
        return links_;
    }
    mutable simulation::node_links links_;
};

struct one_case {
    double rate, measured, simulated, without_links, bytes_ratio;
};

double rank_correlation(std::vector<double> a, std::vector<double> b) {
    const auto ranks = [](const std::vector<double>& x) {
        std::vector<std::size_t> order(x.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t k) { return x[i] < x[k]; });
        std::vector<double> r(x.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            r[order[i]] = static_cast<double>(i);
        }
        return r;
    };
    a = ranks(a);
    b = ranks(b);
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    }
    const auto n = static_cast<double>(a.size());
    return 1 - 6 * sum / (n * (n * n - 1));
}

template <class Net>
void sweep(const char* name, index_t batch, int rounds, int steps, const ts::mpi::environment& mpi,
           const ts::local_devices& over, std::vector<one_case>& cases, double& worst_choice) {
    const bool first = mpi.rank() == 0;
    const int nodes = mpi.size();
    ts::host::backend b(ts::optimizer(ts::sgd{.momentum = 0.9F}));
    ts::host::backend runs(b.update()); // the same on all ranks, also after one has measured
    const ts::graph network = ts::describe<Net>(batch);
    const ts::graph_view g = network.view();
    const ts::detail::synthetic_batch<ts::graph_view> data(g);
    const std::vector<std::vector<ts::input_data>> batches(
        ts::to_size(steps), std::vector<ts::input_data>(data.inputs.begin(), data.inputs.end()));
    const auto lasting = [&](const candidate& x,
                             bool whole) { // whole: all steps of a round in one plan, where that can be
        ts::strategy made = x.how;
        made.steps_per_plan = made.schedule.stages > 0 ? 1 : whole || !x.one_step ? steps : 1;
        return made;
    };
    simulation::thread_costs costs;
    const auto predict = [&](const std::vector<candidate>& all) {
        std::vector<prediction> predicted(all.size());
        benchmarks::run_on(0, first ? nodes : 1);
        const ts::local_devices here(first ? nodes : 1);
        ts::owned<ts::host::task_clock> clock;
        if (first) {
            costs = ts::host::thread_costs_of(b, here, nodes);
            clock.reset(new ts::host::task_clock(b, here.threads(), {.rounds = 7}));
        }
        for (std::size_t i = 0; i < all.size(); ++i) {
            prediction& x = predicted[i];
            const ts::strategy how = lasting(all[i], true);
            x.steps = how.steps_per_plan;
            ts::lower_options o;
            o.update = b.update();
            x.p = ts::lower(g, how.view(), nodes, o);
            b.bind(x.p, g, nullptr);
            ts::finish(g, x.p);
            if (first) {
                clock->learn(x.p, g);
                x.times = clock->times(x.p, g).tasks;
            }
            std::vector<int> node_of(ts::to_size(nodes));
            std::iota(node_of.begin(), node_of.end(), 0);
            x.traffic = ts::traffic_between_nodes(x.p, node_of, nodes);
            for (const auto& of_task : x.traffic.after) {
                for (const auto& m : of_task) {
                    x.is_urgent = x.is_urgent || m.priority >= 0;
                    x.letters += static_cast<double>(ts::node_traffic::bytes_of_parts(x.p, m)) / x.steps;
                }
            }
        }
        benchmarks::run_on(mpi.rank(), 1);
        over.threads().group()->barrier(ts::barrier_point::end_run); // the others have slept meanwhile
        return predicted;
    };
    std::vector<candidate> all = candidates(g, nodes);
    std::vector<prediction> predicted = predict(all);
    const std::size_t fixed = all.size();
    const std::size_t p3 = fixed - 2;
    const std::size_t blocking = fixed - 1;
    constexpr index_t latency =
        100'000; // ns, of a remote write between two threads over a link without load: measured by rank_exchange
    const double alone = benchmarks::of_first(first ? predicted[blocking].milliseconds(costs, nodes, {}, 0) : 0);
    if (first) {
        std::printf("\n%s, batch %d: a step takes %.1f ms without links; each node sends %.2f MB in it under P3\n\n| "
                    "ratio | MB/s |",
                    name, static_cast<int>(batch), alone, predicted[p3].letters / nodes * 1e-6);
        for (const candidate& x : all) {
            std::printf(" %s, ms | simulated | bytes |", x.name);
        }
        std::printf(
            " OptCNN, ms | simulated | bytes | OptCNN, P3, ms | simulated | bytes | P3 over blocking, %% | simulated "
            "|\n|");
        for (std::size_t i = 0; i < 4 + 3 * (all.size() + 2); ++i) {
            std::printf("---|");
        }
        std::printf("\n");
    }
    for (const double ratio : ratios) {
        const double rate = predicted[p3].letters / nodes / (ratio * alone * 1e-3);
        all.resize(fixed);
        const std::vector<candidate> found = searched(g, benchmarks::nodes_that_take(g, alone, rate, nodes));
        all.insert(all.end(), found.begin(), found.end());
        predicted = predict(all); // anew: the machine is not as fast all the time
        benchmarks::set_rate(rate);
        const link_figures urgent = measured_link(mpi.rank(), rate, 2);
        const link_figures plain = measured_link(mpi.rank(), rate, 9);
        std::vector<ts::owned<ts::session<ts::host::backend>>> sides;
        std::vector<std::vector<double>> milliseconds(all.size());
        std::vector<double> bytes(all.size(), 0.0);
        for (const candidate& x : all) {
            sides.emplace_back(
                new ts::session<ts::host::backend>(g, lasting(x, false), nodes, b.update(), {}, runs, over.threads()));
            sides.back()->set_learning_rate(0);
        }
        for (int round = -1; round < rounds; ++round) {
            for (std::size_t k = 0; k < sides.size(); ++k) {
                const std::size_t i = (k + ts::to_size(round + 1)) % sides.size();
                MPI_Barrier(MPI_COMM_WORLD);
                const double before = benchmarks::bytes_sent();
                const double took = benchmarks::milliseconds([&] {
                    sides[i]->steps(batches);
                    sides[i]->finish();
                });
                MPI_Barrier(MPI_COMM_WORLD);
                const double sent = benchmarks::sum_over_nodes(benchmarks::bytes_sent() - before);
                if (round >= 0) {
                    milliseconds[i].push_back(took / steps);
                    bytes[i] += sent / rounds / steps;
                }
            }
        }
        if (!first) {
            continue;
        }
        std::fprintf(stderr,
                     "%.1f MB/s: two letters at a time %.1f MB/s, %.2f ns of a core for a byte; nine %.1f, %.2f\n",
                     rate * 1e-6, urgent.bytes_per_second * 1e-6, 1e9 * urgent.core_seconds_per_byte,
                     plain.bytes_per_second * 1e-6, 1e9 * plain.core_seconds_per_byte);
        std::printf("| %.2f | %.1f |", ratio, rate * 1e-6);
        std::vector<one_case> now;
        for (std::size_t i = 0; i < all.size(); ++i) {
            const one_case c{rate, benchmarks::median(milliseconds[i]),
                             predicted[i].milliseconds(costs, nodes, predicted[i].is_urgent ? urgent : plain, latency),
                             predicted[i].milliseconds(costs, nodes, {}, 0), bytes[i] / predicted[i].letters};
            std::printf(" %.1f | %.1f | %.3f |", c.measured, c.simulated, c.bytes_ratio);
            now.push_back(c);
        }
        const auto gain = [&](double one_case::*x) { return 100 * (now[blocking].*x / (now[p3].*x) - 1); };
        std::printf(" %+.0f | %+.0f |\n", gain(&one_case::measured), gain(&one_case::simulated));
        std::fflush(stdout);
        const auto chosen = std::min_element(
            now.begin(), now.end(), [](const one_case& x, const one_case& y) { return x.simulated < y.simulated; });
        const auto best = std::min_element(
            now.begin(), now.end(), [](const one_case& x, const one_case& y) { return x.measured < y.measured; });
        worst_choice = std::max(worst_choice, chosen->measured / best->measured - 1);
        cases.insert(cases.end(), now.begin(), now.end());
    }
}

int program(const ts::mpi::environment& mpi, int rounds, int steps) {
    benchmarks::bytes_sent();
    benchmarks::run_on(mpi.rank(), 1);
    const ts::local_devices over = ts::mpi::ranks(mpi);
    if (over.threads().group()->nodes() != mpi.size() || mpi.size() < 2 || rounds < 1 || steps < 1) {
        throw ts::error("usage: links.py --nodes 2 real_links [ROUNDS [STEPS]], a rank on each node");
    }
    std::vector<one_case> cases;
    double worst_choice = 0;
    if (mpi.rank() == 0) {
        std::printf("%ld cores, %d nodes of one device, rounds of %d steps\n", sysconf(_SC_NPROCESSORS_ONLN),
                    mpi.size(), steps);
    }
    sweep<benchmarks::tower::network>("tower", 32, rounds, steps, mpi, over, cases, worst_choice);
    sweep<networks::lenet5>("LeNet-5", 512, rounds, 3 * steps, mpi, over, cases, worst_choice);
    if (mpi.rank() == 0) {
        double error = 0;
        double without = 0;
        double least = 1e9;
        std::vector<double> measured, simulated;
        for (const one_case& c : cases) {
            error += std::abs(c.simulated / c.measured - 1) / static_cast<double>(cases.size());
            without += std::abs(c.without_links / c.measured - 1) / static_cast<double>(cases.size());
            least = std::min(least, c.bytes_ratio);
            measured.push_back(c.measured);
            simulated.push_back(c.simulated);
        }
        std::printf("\n%zu cases: mean error of the simulated steps %.1f %%, without links in the simulation %.1f %%; "
                    "rank correlation %.3f; where the "
                    "policy that it calls fastest is not, it loses at most %.1f %%; bytes on the links at least %.3f "
                    "of the plans'\n",
                    cases.size(), 100 * error, 100 * without, rank_correlation(measured, simulated), 100 * worst_choice,
                    least);
    }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    return ts::mpi::run(argc, argv, [&](const ts::mpi::environment& mpi) {
        return program(mpi, argc > 1 ? std::atoi(argv[1]) : 7, argc > 2 ? std::atoi(argv[2]) : 4);
    });
}
