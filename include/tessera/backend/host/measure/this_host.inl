// SPDX-License-Identifier: Apache-2.0
// Bodies of this_host.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/measure/this_host.hpp"

#include "tessera/plan/lower/lower.hpp"

#include <utility>

namespace tessera::host::detail {

TESSERA_INLINE double median_of(std::vector<double> x) {
    std::sort(x.begin(), x.end());
    return x[x.size() / 2];
}

TESSERA_INLINE double measure_notice(workers& threads) {
    constexpr int turns = 2000;
    struct alignas(64) counter {
        std::atomic<int> value{0};
    };
    counter of[2];
    double seconds = 0;
    auto body = [&](int device) {
        if (device > 1) {
            return;
        }
        const double begin = seconds_now();
        for (int i = 1; i <= turns; ++i) {
            if (device == 0) {
                of[0].value.store(i, std::memory_order_release);
            }
            tessera::detail::spin_until([&] { return of[1 - device].value.load(std::memory_order_acquire) >= i; },
                                        threads.spins());
            if (device == 1) {
                of[1].value.store(i, std::memory_order_release);
            }
        }
        if (device == 0) {
            seconds = (seconds_now() - begin) / (2 * turns);
        }
    };
    std::vector<double> all;
    for (int i = 0; i < 9; ++i) {
        threads.run(body);
        all.push_back(seconds);
    }
    return median_of(std::move(all));
}

TESSERA_INLINE double measure_dispatch() {
    constexpr int tasks = 4096;
    struct entry {
        void (*call)(void*, const run_state&);
        void* context;
        int waits;
    };
    static int calls = 0;
    const std::vector<entry> list(tasks, {[](void* what, const run_state&) { ++*static_cast<int*>(what); }, &calls, 0});
    std::atomic<int> done{0};
    std::atomic<bool> failed{false};
    const run_state state;
    std::vector<double> all;
    for (int i = 0; i < 9; ++i) {
        const double begin = seconds_now();
        int finished = 0;
        for (const entry& e : list) {
            if (e.waits > 0 || failed.load(std::memory_order_relaxed)) {
                return 0;
            }
            e.call(e.context, state);
            done.store(++finished, std::memory_order_release);
        }
        all.push_back((seconds_now() - begin) / tasks);
    }
    return median_of(std::move(all));
}

TESSERA_INLINE double measure_notice(process_group& group) {
    std::vector<double> all;
    for (int i = 0; i < 101; ++i) {
        const double begin = seconds_now();
        group.barrier(tessera::barrier_point::agree);
        all.push_back(seconds_now() - begin);
    }
    return median_of(std::move(all));
}

TESSERA_INLINE double measure_pressure(workers& threads) {
    if (threads.devices() < 2) {
        return 0;
    }
    sweep mine(128 << 20);
    sweep other(128 << 20);
    double seconds[2]{};
    std::atomic<int> ready{0};
    std::atomic<bool> over{false};
    bool both = false;
    auto body = [&](int device) {
        if (device == 1) {
            ready.store(1);
            while (!over.load(std::memory_order_relaxed)) {
                both ? other.stream() : tessera::detail::relax();
            }
        } else if (device == 0) {
            tessera::detail::spin_until([&] { return ready.load() == 1; }, threads.spins());
            const double begin = seconds_now();
            for (int i = 0; i < 400; ++i) {
                mine.stream();
            }
            seconds[both ? 1 : 0] = seconds_now() - begin;
            over.store(true);
        }
    };
    std::vector<double> ratios;
    for (int i = 0; i < 7; ++i) {
        for (const bool second : {false, true}) {
            both = second;
            ready.store(0);
            over.store(false);
            threads.run(body);
        }
        ratios.push_back(seconds[1] / seconds[0] - 1);
    }
    return std::max(0.0, median_of(std::move(ratios)));
}

TESSERA_INLINE double measure_pressure(process_group& group) {
    if (group.size() < 2 || group.node_of(0) != group.node_of(1)) {
        return 0;
    }
    sweep mine(128 << 20);
    std::vector<double> ratios;
    for (int i = 0; i < 7; ++i) {
        double seconds[2]{};
        for (const bool both : {false, true}) {
            group.barrier(tessera::barrier_point::agree);
            const double begin = seconds_now();
            for (int k = 0; k < 400 && group.rank() < (both ? 2 : 1); ++k) {
                mine.stream();
            }
            seconds[both ? 1 : 0] = seconds_now() - begin;
        }
        ratios.push_back(group.rank() == 0 ? seconds[1] / seconds[0] - 1 : 0);
    }
    return std::max(0.0, median_of(std::move(ratios)));
}

} // namespace tessera::host::detail

namespace tessera::host {

TESSERA_INLINE simulation::thread_costs thread_costs_of(backend& b, const local_devices& team, int used) {
    profile& known = b.measured();
    process_group* const group = team.threads().group();
    b.agree_over(group);
    const std::string threads = " " + std::to_string(used);
    if (used > team.count()) {
        throw error("tessera: " + std::to_string(used) + " threads are asked about and there are " +
                    std::to_string(team.count()) + "; make more devices");
    }
    if (known.find("host step" + threads) == nullptr) {
        const graph g = describe<detail::probe_network>(32);
        b.rows().add(rows_of<operators_of<detail::probe_network>>());
        session<backend> probe(g.view(), search::data_parallel(g.view(), used), used, b.update(), {}, b,
                               team.threads());
        probe.set_learning_rate(0);
        const tessera::detail::synthetic_batch<graph_view> data(g.view());
        std::vector<double> around;
        std::vector<double> late;
        std::vector<double> hand_over;
        simulation::timeline t;
        for (int i = 0; i < (group != nullptr ? 200 : 2000); ++i) { // ranks may be more than cores
            const double begin = seconds_now();
            probe.step(data.inputs, t);
            const double whole = // of ranks without the time in which they agree
                group != nullptr ? static_cast<double>(t.makespan) * 1e-9 : seconds_now() - begin;
            const std::vector<std::vector<int>>& order = probe.training_plan().order;
            index_t last = 0;
            index_t begins[2] = {t.makespan, t.makespan}; // of device 0, and of the first of the others
            for (std::size_t d = 0; d < order.size(); ++d) {
                index_t& mine = begins[d == 0 ? 0 : 1];
                mine = std::min(mine, t.tasks[to_size(order[d].front())].start);
                last = std::max(last, t.tasks[to_size(order[d].back())].end);
            }
            const index_t first = std::min(begins[0], begins[1]);
            around.push_back(whole - static_cast<double>(last - first) * 1e-9);
            late.push_back(static_cast<double>(begins[0] - first) * 1e-9);
            hand_over.push_back(static_cast<double>(begins[1] - first) * 1e-9);
        }
        const auto add = [&](const char* what, const std::vector<double>& seconds) {
            known.add(what + threads, std::max(1e-9, detail::median_of(seconds)));
        };
        add("host step", around);
        add("host late", late);
        add("host hand-over", hand_over);
    }
    if (known.find("host notice") == nullptr) {
        known.add("host notice", group != nullptr   ? detail::measure_notice(*group)
                                 : team.count() > 1 ? detail::measure_notice(team.threads())
                                                    : 1e-9);
        known.add("host dispatch", std::max(1e-9, detail::measure_dispatch()));
        known.add("host pressure", std::max(1e-3, group != nullptr ? detail::measure_pressure(*group)
                                                                   : detail::measure_pressure(team.threads())));
        known.save();
    }
    const auto nanoseconds = [&](const std::string& name) {
        return static_cast<index_t>(std::llround(*known.find(name) * 1e9));
    };
    simulation::thread_costs c;
    c.step = nanoseconds("host step" + threads);
    c.late = used > 1 ? nanoseconds("host late" + threads) : 0;
    c.hand_over = used > 1 ? nanoseconds("host hand-over" + threads) : 0;
    c.notice = nanoseconds("host notice");
    c.dispatch = nanoseconds("host dispatch");
    c.cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    if (group != nullptr) { // of as many nodes as the one with the most
        auto cores = static_cast<double>(c.cores);
        group->agree_on_most({&cores, 1});
        c.cores = static_cast<int>(cores) * group->nodes();
    }
    // Neighbours on a shared machine make the measurement waver; outside of these bounds it is theirs.
    c.pressure = std::clamp<index_t>(static_cast<index_t>(*known.find("host pressure") * 1000), 400, 1000);
    return c;
}

TESSERA_INLINE device_graph this_host(backend& b, const local_devices& team) {
    b.rows().add(rows_of<operators_of<detail::rate_convs, detail::rate_linears>>());
    task_clock clock(b, team.threads());
    double best[work_kinds] = {1, 1, 1}; // flops per ns
    double memory = 1;                   // bytes per ns
    double link = 1;
    const auto measure = [&](const graph& network) {
        const graph_view g = network.view();
        lower_options o;
        o.update = b.update();
        plan p = lower(g, search::data_parallel(g, team.count()).view(), team.count(), o);
        b.bind(p, g, nullptr);
        finish(g, p);
        clock.learn(p, g);
        const plan_times times = clock.times(p, g);
        for (std::size_t i = 0; i < p.tasks.size(); ++i) {
            const task& t = p.tasks[i];
            const auto ns = static_cast<double>(times.tasks[i].alone);
            if (t.kind() == task_kind::compute && t.what != pass::update) {
                const cost::work w = simulation::work_of(g, g.describe(t.op), p.tiles, t);
                double& rate = best[static_cast<int>(w.kind)];
                rate = std::max(rate, static_cast<double>(w.flops) / ns);
                if (w.kind == work_kind::elementwise && w.bytes > (1 << 20)) {
                    memory = std::max(memory, static_cast<double>(w.bytes) / ns);
                }
            } else if (t.kind() == task_kind::update) {
                index_t remote = 0;
                for (int r : t.reads) {
                    remote +=
                        p.tiles[to_size(r)].device != t.device ? simulation::tile_bytes(p.tiles[to_size(r)], t) : 0;
                }
                link = std::max(link, static_cast<double>(2 * remote) /
                                          ns); // it reads a gradient and writes a parameter there
            }
        }
    };
    measure(describe<detail::rate_convs>(16));
    measure(describe<detail::rate_linears>(128));
    const simulation::thread_costs c = thread_costs_of(b, team, team.count());
    device_graph g;
    g.name = "this host (measured)";
    device_class d;
    d.name = "thread";
    for (int k = 0; k < work_kinds; ++k) {
        d.gigaflops[k] = std::max<index_t>(1, static_cast<index_t>(std::llround(best[k])));
    }
    d.memory_megabytes = std::max<index_t>(1, static_cast<index_t>(memory * 1000));
    d.launch = c.dispatch;
    d.serial_copies = true;
    g.add_class(d);
    for (int i = 0; i < team.count(); ++i) {
        g.add_device(0, "thread " + std::to_string(i));
        for (int k = 0; k < i; ++k) {
            g.add_link(k, i, std::max<index_t>(1, static_cast<index_t>(link * 1000)), c.notice);
        }
    }
    return g;
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
