// SPDX-License-Identifier: Apache-2.0
// Every system of the papers on one network and one cluster, and what is found among combinations of strategies,
// schedules and synchronization.
#pragma once

#include "benchmarks/papers/gradients.hpp"
#include "benchmarks/papers/p3.hpp"
#include "tessera/search/mcmc/mcmc.hpp"
#include "tessera/search/optcnn/grouped.hpp"
#include "tessera/search/optcnn/optcnn.hpp"

#include <map>
#include <string>

namespace papers {

struct cell {
    std::string network;
    ts::graph (*describe)(index_t);
    index_t batch;
    std::string cluster;
    ts::device_graph machine;
    bool servers = false; ///< parameter servers take gradients in at a bounded rate
    double seconds = 5;   ///< of MCMC
    double most = 180;    ///< seconds after which no more combinations are tried
};

/// A strategy with its step.
struct candidate {
    std::string name;
    const ts::graph* network = nullptr;
    ts::strategy value;
    bool barrier = true; ///< between steps; else what a step in the middle of many takes
    double ms = 0;
    index_t bytes = 0;  ///< of the fullest device
    bool tried = false; ///< with every synchronization
};

class contest {
public:
    explicit contest(const cell& c) : cell_(c), on_(c.machine) {
        times_.server_megabytes = c.servers ? mxnet_server : 0;
        for (int d = 0; d < on_.devices(); ++d) {
            const index_t m = on_.class_of(d).memory_bytes;
            limit_ = limit_ == 0 || m < limit_ ? m : limit_;
        }
    }

    void run() {
        seeds();
        const std::size_t own = all_.size();
        searching_ = true;
        combinations();
        std::fprintf(stderr, "%s: %.0f s, %zu tried, %d not\n", cell_.network.c_str(),
                     benchmarks::milliseconds_since(begin_) / 1000, all_.size(), untried_);
        const candidate* best_seed = best(0, own);
        const candidate* found = best(0, all_.size());
        std::printf("| %s | %s | %lld |", cell_.network.c_str(), cell_.cluster.c_str(),
                    static_cast<long long>(cell_.batch));
        const char* const columns[] = {"data parallel", "servers", "Horovod", "P3",      "GPipe",
                                       "HyPar-Flow",    "GEMS",    "OptCNN",  "FlexFlow"};
        for (const char* column : columns) {
            bool known = false;
            for (std::size_t i = 0; i < own && !known; ++i) {
                const candidate& c = all_[i];
                known = c.name == column;
                if (known) {
                    std::printf(" %.1f%s |", c.ms, c.bytes > limit_ ? " (!)" : "");
                }
            }
            if (!known) {
                std::printf(" |");
            }
        }
        if (best_seed == nullptr || found == nullptr) {
            std::printf(" nothing fits | | | |\n");
        } else {
            std::printf(" %s | %.1f: %s | %.1f | %.3f |\n", best_seed->name.c_str(), found->ms, found->name.c_str(),
                        with_free_links(*found), best_seed->ms / found->ms);
        }
        std::fflush(stdout);
    }

private:
    /// Step times first; memory is planned for those that would win.
    const candidate* best(std::size_t from, std::size_t to) {
        const candidate* least = nullptr;
        for (std::size_t i = from; i < to; ++i) {
            candidate& c = all_[i];
            if (c.ms > 0 && (least == nullptr || c.ms < least->ms) && bytes_of(c) <= limit_) {
                least = &c;
            }
        }
        return least;
    }
    index_t bytes_of(candidate& c) {
        if (c.bytes == 0) {
            ts::strategy one = c.value;
            one.steps_per_plan = 1;
            c.bytes = memory_of(c.network->view(), one, on_.devices()).most;
        }
        return c.bytes;
    }

    const ts::graph& replicas(int count) {
        ts::graph& g = replicas_[count];
        if (g.ops.empty()) {
            g = replicas_of(one(count), count);
        }
        return g;
    }
    const ts::graph& one(int count) {
        ts::graph& g = ones_[count];
        if (g.ops.empty()) {
            g = cell_.describe(cell_.batch / count);
        }
        return g;
    }

    /// What the same takes where moving bytes costs next to nothing: no way to synchronize makes that shorter.
    double with_free_links(const candidate& c) const {
        ts::device_graph free = cell_.machine;
        for (ts::link& l : free.links) {
            l.megabytes = ts::largest_rate;
            l.latency = 0;
        }
        const ts::cluster on(free);
        return c.barrier ? step_ms(c.network->view(), c.value, on) : steady_ms(c.network->view(), c.value, on);
    }

    /// Simulates a step. What has no barrier between steps is simulated for more of them, unless it is a combination
    /// and a device or a lane is in use for longer in one than the fastest that fits takes: it cannot win then.
    void add(const std::string& name, const ts::graph& g, ts::strategy s, bool barrier) {
        candidate c{name, &g, std::move(s), barrier};
        const auto begin = benchmarks::clock_type::now();
        if (searching_ && benchmarks::milliseconds_since(begin_) > cell_.most * 1000) {
            std::fprintf(stderr, "%s, %s: no time left\n", cell_.network.c_str(), name.c_str());
            ++untried_;
            return;
        }
        const char* note = "";
        try {
            const ts::plan p = ts::lower(g.view(), c.value.view(), on_.devices());
            const ts::simulation::timeline t = ts::simulation::simulate(g.view(), p, on_, times_);
            c.ms = in_ms(t.makespan);
            const double busy = in_ms(*std::max_element(t.device_busy.begin(), t.device_busy.end()));
            const double lanes =
                t.lane_busy.empty() ? 0 : in_ms(*std::max_element(t.lane_busy.begin(), t.lane_busy.end()));
            if (!barrier && searching_ && fastest_ > 0 && std::max(busy, lanes) >= fastest_) {
                note = ", with a barrier; without one no less than the fastest";
            } else if (!barrier) {
                c.ms = steady_ms(g.view(), c.value, on_, times_);
            }
            if ((fastest_ == 0 || c.ms < fastest_) && bytes_of(c) <= limit_) {
                fastest_ = c.ms;
            }
        } catch (const ts::error& e) {
            std::fprintf(stderr, "%s, %s: %s\n", cell_.network.c_str(), name.c_str(), e.what());
            return;
        }
        std::fprintf(stderr, "%s, %s: %.3f ms%s (%.1f s)\n", cell_.network.c_str(), name.c_str(), c.ms, note,
                     benchmarks::milliseconds_since(begin) / 1000);
        all_.push_back(std::move(c));
    }

    double bytes_per_ns() const {
        double least = 1e300;
        for (const ts::link& l : cell_.machine.links) {
            least = std::min(least, static_cast<double>(l.megabytes) / 1000);
        }
        return least;
    }
    /// Of a device that reaches 60 % of its peak, as convolutions do in the simulator.
    schedule::worker_speed speed() const {
        return {0.6 * static_cast<double>(on_.class_of(0).gigaflops[0]), bytes_per_ns()};
    }
    std::vector<schedule::ready_gradient> gradients(const ts::graph& g, int workers_of_it) const {
        return schedule::gradients_of(g.view(), speed(), workers_of_it);
    }
    /// Synchronization by the table's words, whatever is no policy's being every gradient by itself.
    ts::synchronization policy(const std::string& words, const ts::graph& g, int sharing) const {
        struct {
            const char* words;
            const char* name;
            benchmarks::by_name_options options;
        } const known[] = {
            {"servers", "parameter-server", {}},
            {"P3", "p3", {}},
            {"fused", "tensor-fusion", {}},
            {"buckets", "buckets", {}},
            {"prioritized all-reduces", "byte-scheduler-all-reduce", {{"partition", 2e6}, {"credit", 4e6}}},
            {"prioritized slices", "byte-scheduler-slices", {{"partition", 2e6}, {"credit", 4e6}}},
            {"blocking", "blocking-all-reduce", {}},
        };
        for (const auto& x : known) {
            if (words == x.words) {
                return policy_by(x.name, gradients(g, sharing), on_.devices(), x.options, speed());
            }
        }
        return {};
    }

    /// K stages on each of n / K replicas.
    ts::strategy pipeline(int stages, const ts::pipeline_schedule& order, bool recomputes) {
        const int n = on_.devices();
        const int count = n / stages;
        const ts::graph_view g = one(count).view();
        const std::vector<int> stage =
            schedule::balance_stages(search::operator_times(g, on_.class_of(0)), order.stages);
        ts::strategy s = search::pipeline(g, stage, order);
        if (recomputes) {
            recompute_all(g, s);
        }
        return replicas_of(s, count, stages);
    }
    /// Nanoseconds that a device computes for the slowest of so many stages, by the roofline for whole batches.
    index_t slowest_stage(int stages) {
        const ts::graph_view g = one(on_.devices() / stages).view();
        const std::vector<index_t> times = search::operator_times(g, on_.class_of(0));
        const std::vector<int> stage = schedule::balance_stages(times, stages);
        std::vector<index_t> sums(ts::to_size(stages), 0);
        for (std::size_t op = 0; op < times.size(); ++op) {
            sums[ts::to_size(stage[op])] += times[op];
        }
        return *std::max_element(sums.begin(), sums.end());
    }
    ts::strategy data(int n) { return replicas_of(search::single_device(one(n).view()), n, 1); }

    void seeds() {
        const int n = on_.devices();
        for (const auto& [name, how] :
             {std::pair{"data parallel", "blocking"}, {"servers", "servers"}, {"Horovod", "fused"}, {"P3", "P3"}}) {
            ts::strategy s = data(n);
            s.sync = policy(how, replicas(n), n);
            add(name, replicas(n), s, std::string(name) == "data parallel" || std::string(name) == "Horovod");
        }
        const auto parts = [&](int count, int wanted) {
            return static_cast<int>(std::min<index_t>(wanted, cell_.batch / count));
        };
        add("GPipe", replicas(1),
            pipeline(n, schedule_by("gpipe", n, parts(1, 4 * n), {}, schedule::rematerialize::all), true), true);
        const std::size_t before = all_.size();
        for (int k = 2; k <= n; k *= 2) {
            add("HyPar-Flow", replicas(n / k), pipeline(k, schedule_by("gpipe", k, parts(n / k, 2 * k)), false), true);
        }
        std::sort(all_.begin() + static_cast<std::ptrdiff_t>(before), all_.end(), [&](candidate& a, candidate& b) {
            return std::pair{bytes_of(a) > limit_, a.ms} < std::pair{bytes_of(b) > limit_, b.ms};
        });
        all_.resize(std::min(all_.size(), before + 1));
        add("GEMS", replicas(1), pipeline(n, schedule_by("gems", n, parts(1, 2)), false), true);
        whole_ = cell_.describe(cell_.batch);
        const ts::graph_view v = whole_.view();
        add("OptCNN", whole_, optcnn(v), true);
        search::mcmc_options o;
        o.budget = INT64_MAX;
        o.patience = INT64_MAX;
        o.times = times_;
        search::mcmc_chain chain(v, on_, start(v), o);
        const auto begin = benchmarks::clock_type::now();
        while (benchmarks::milliseconds_since(begin) < cell_.seconds * 1000) {
            chain.run(5);
        }
        add("FlexFlow", whole_, chain.best(), true);
        const auto& steps = chain.improvements(); // the best for a barrier need not be the best without
        for (std::size_t i = steps.size() > 4 ? steps.size() - 4 : 0; i + 1 < steps.size(); ++i) {
            walked_.push_back(steps[i].value);
        }
        for (candidate& c : all_) {
            bytes_of(c);
        }
    }

    /// Where MCMC starts: data parallelism or, where that does not fit, another split that does.
    ts::strategy start(const ts::graph_view& v) const {
        for (const char* name : {"data", "one-weird-trick", "model"}) {
            if (ts::strategy s = found_by(name, v, on_); search::fits(v, on_, s)) {
                return s;
            }
        }
        return found_by("data", v, on_);
    }

    /// OptCNN's optimum; where that takes too long, with one choice for all steps of a recurrent layer.
    ts::strategy optcnn(const ts::graph_view& v) {
        const auto begin = benchmarks::clock_type::now();
        const ts::machine uniform = ts::uniform_machine(on_);
        ts::strategy s;
        try {
            search::optcnn_options o;
            o.elimination.budget = 1'000'000'000;
            s = search::optcnn(v, uniform, o);
        } catch (const ts::error&) {
            s = search::grouped_optcnn(v, uniform).best;
            std::fprintf(stderr, "%s, OptCNN: one choice for all steps of a layer\n", cell_.network.c_str());
        }
        std::fprintf(stderr, "%s, OptCNN's search: %.1f s\n", cell_.network.c_str(),
                     benchmarks::milliseconds_since(begin) / 1000);
        return s;
    }

    void combinations() {
        const int n = on_.devices();
        for (const char* how : policies_) {
            ts::strategy s = data(n);
            s.sync = policy(how, replicas(n), n);
            add(std::string("data parallel, no barrier, ") + how, replicas(n), s, false);
        }
        for (const char* how : {"P3", "prioritized all-reduces", "prioritized slices"}) {
            ts::strategy s = data(n);
            s.sync = policy(how, replicas(n), n);
            for (int round = 0; round < 2; ++round) {
                s.sync = queued_again(replicas(n).view(), s, gradients(replicas(n), n), on_, times_);
            }
            add(std::string("data parallel, no barrier, ") + how + " in the order of simulated times", replicas(n), s,
                false);
        }
        std::vector<candidate> seeds = all_;
        for (std::size_t i = 0; i < walked_.size(); ++i) {
            seeds.push_back({"FlexFlow", &whole_, walked_[i]});
        }
        for (const char* how : {"one by one", "prioritized slices"}) {
            for (const candidate& c : seeds) {
                if (c.name == "OptCNN" || c.name == "FlexFlow") {
                    ts::strategy s = c.value;
                    s.sync = policy(how, whole_, n);
                    add(c.name + "'s splits, no barrier, " + how, whole_, s, false);
                }
            }
            ts::strategy s = found_by("one-weird-trick", whole_.view(), on_);
            s.sync = policy(how, whole_, n);
            add(std::string("one weird trick, no barrier, ") + how, whole_, s, false);
        }
        for (int k = 2; k <= n; k *= 2) {
            const int count = n / k;
            if (fastest_ > 0 && 0.8 * in_ms(slowest_stage(k)) > fastest_) { // what waits for it takes longer
                std::fprintf(stderr, "%s, %d stages: the slowest takes %.3f ms\n", cell_.network.c_str(), k,
                             in_ms(slowest_stage(k)));
                continue;
            }
            for (const int m : {k, 2 * k, 4 * k}) {
                if (cell_.batch / count < m) {
                    continue;
                }
                const std::string shape = std::to_string(k) + " stages x " + std::to_string(count) + ", " +
                                          std::to_string(m) + " micro-batches, ";
                add(shape + "1F1B, no barrier", replicas(count), pipeline(k, schedule_by("1f1b", k, m), false), false);
                add(shape + "1F1B recomputing, no barrier", replicas(count),
                    pipeline(k, schedule_by("1f1b", k, m), true), false);
                add(shape + "ZB-H1, no barrier", replicas(count), pipeline(k, schedule_by("zero-bubble", k, m), false),
                    false);
                if (2 * k <= one(count).view().op_count) { // every stage needs an operator
                    add(shape + "interleaved, no barrier", replicas(count),
                        pipeline(k, schedule_by("interleaved", k, m), false), false);
                }
            }
        }
        for (int round = 0; round < 2; ++round) { // the best with every other synchronization
            const candidate* found = best(0, all_.size());
            if (found == nullptr || found->barrier || found->tried) {
                return;
            }
            const auto which = ts::to_size(found - all_.data());
            all_[which].tried = true;
            const candidate from = all_[which];
            std::string name = from.name;
            for (const char* how : policies_) {
                const std::string said = std::string(", ") + how;
                const std::size_t at = name.find(said);
                if (at != std::string::npos) {
                    name.erase(at, said.size());
                }
            }
            for (const char* how : policies_) {
                ts::strategy s = from.value;
                s.sync = policy(how, *from.network, n);
                if (s.sync != from.value.sync) {
                    add(name + ", " + how, *from.network, s, false);
                }
            }
        }
    }

    static constexpr const char* policies_[] = {"one by one", "fused", "buckets", "prioritized all-reduces",
                                                "prioritized slices"};
    cell cell_;
    ts::cluster on_;
    ts::simulation::task_times times_;
    index_t limit_ = 0;
    std::map<int, ts::graph> ones_;     ///< the network of one of so many replicas
    std::map<int, ts::graph> replicas_; ///< all of them
    ts::graph whole_;
    std::vector<ts::strategy> walked_; ///< what MCMC found before its best
    std::vector<candidate> all_;
    double fastest_ = 0; ///< ms, of what fits
    benchmarks::clock_type::time_point begin_ = benchmarks::clock_type::now();
    bool searching_ = false;
    int untried_ = 0; ///< combinations for which there was no time
};

} // namespace papers
