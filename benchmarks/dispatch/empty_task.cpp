// SPDX-License-Identifier: Apache-2.0
// What the executor adds to a task: plans whose tasks do nothing, timed for each task. On one device a chain; on two
// devices side by side without waits, and in turns, where every task waits for the one before it on the other device.
#include "benchmarks/support/timing.hpp"

#include <tessera/execute/local/executor.hpp>

#include <cstdio>
#include <vector>

namespace ts = tessera;

namespace {

struct idle_backend {
    void bind(ts::plan&, const ts::graph_view&, const ts::parameter_store*) {}
    void start(int) {}
    ts::runnable prepare(const ts::plan&, int, const ts::graph_view&, const ts::addresses&) {
        return {[](void*, const ts::run_state&) {}, nullptr};
    }
};

/// `count` tasks dealt out to the devices in turns; with `waits` each starts when the one before it has ended.
ts::plan make_plan(int devices, int count, bool waits) {
    ts::plan p;
    p.devices = devices;
    p.arena_bytes.assign(ts::to_size(devices), 0);
    p.persistent_bytes.assign(ts::to_size(devices), 0);
    for (int i = 0; i < count; ++i) {
        ts::task t;
        t.become(ts::task_kind::copy);
        t.device = i % devices;
        p.tasks.push_back(t);
    }
    ts::number_tasks(p);
    for (int i = 1; waits && devices > 1 && i < count; ++i) {
        p.tasks[ts::to_size(i)].waits.push_back({(i - 1) % devices, (i - 1) / devices + 1});
    }
    return p;
}

/// Seconds of a run of so many tasks.
ts::timing time_plan(int devices, int count, bool waits, ts::workers& threads) {
    idle_backend backend;
    const ts::parameter_store store;
    ts::executor<idle_backend> runner(backend, threads, ts::graph_view(), make_plan(devices, count, waits), store);
    const ts::run_state state;
    return ts::time_runs([&] { runner.run(state); },
                         {.warm_up = 5, .most = 200, .precision = 0, .seconds = 60, .sample_seconds = 0});
}

} // namespace

int main() {
    constexpr int tasks = 10000;
    ts::workers one(1);
    ts::workers two(2);
    const benchmarks::on_first_core pinned;
    const ts::timing chain = time_plan(1, tasks, true, one);
    const ts::timing apart = time_plan(2, tasks, false, two);
    const ts::timing turns = time_plan(2, tasks, true, two);
    const ts::timing nothing = time_plan(2, 2, false, two);
    const auto print = [](const char* what, const ts::timing& t, int each, const char* more) {
        std::printf("%-45s %.4f (%.4f)%s\n", what, 1e6 * t.median / each, 1e6 * t.least / each, more);
    };
    std::printf("empty tasks, us each: median (smallest) of 200 runs of %d tasks\n", tasks);
    print("  one device", chain, tasks, "   wanted: at most 0.3");
    print("  two devices, no waits", apart, tasks / 2, "");
    print("  two devices in turns: a wait before each", turns, tasks, "");
    print("a run of two devices with one task each, us:", nothing, 1, "");
    return 0;
}
