// SPDX-License-Identifier: Apache-2.0
// Devices as threads: exceptions, many devices on few cores, plans whose tasks fail while others wait.
#include "tessera/execute/local/workers.hpp"
#include "tessera/execute/local/executor.hpp"
#include "tessera/plan/lower/lower.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

namespace ts = tessera;

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<8> {};
struct network : ts::sequential<ts::features<8>, fc1, ts::relu, fc2, ts::cross_entropy> {};

/// A plan in which devices wait for each other all the time: every operator's shards are one device further on.
ts::plan chained(const ts::graph_view& g, int devices, bool overlap = false) {
    ts::strategy s(g);
    s.overlap = overlap;
    for (int op = 0; op < g.op_count; ++op) {
        ts::configuration& c = s.ops[ts::to_size(op)];
        c.degree[0] = devices;
        c.uneven = true;
        std::vector<int> where;
        for (int i = 0; i < devices; ++i) {
            where.push_back((i + op) % devices);
        }
        s.place(op, where);
    }
    ts::require(g, s.view(), devices);
    ts::plan p = ts::lower(g, s.view(), devices);
    ts::finish(g, p);
    return p;
}

/// Tasks that only check the plan's order and count; one of them may fail.
struct counting_backend {
    struct job {
        counting_backend* owner = nullptr;
        const ts::plan* p = nullptr;
        int task = 0;
    };
    std::vector<job> jobs;
    std::vector<std::atomic<int>> runs;
    int fails = -1;          ///< task that throws when it runs
    int cannot_prepare = -1; ///< task that throws when it is prepared
    std::atomic<int> early{0};

    explicit counting_backend(std::size_t tasks) : jobs(tasks), runs(tasks) {}

    void bind(ts::plan&, const ts::graph_view&, const ts::parameter_store*) {}
    void start(int) {}
    ts::runnable prepare(const ts::plan& p, int i, const ts::graph_view&, const ts::addresses&) {
        if (i == cannot_prepare) {
            throw ts::error("task cannot be prepared");
        }
        job& j = jobs[ts::to_size(i)];
        j = {this, &p, i};
        return {[](void* context, const ts::run_state&) { run(*static_cast<job*>(context)); }, &j};
    }

    static void run(job& j) {
        counting_backend& b = *j.owner;
        const auto me = ts::to_size(j.task);
        if (j.task == b.fails) {
            throw ts::error("task " + std::to_string(j.task) + " has failed");
        }
        // Whatever it waits for has run as often as it is about to.
        const int now = b.runs[me].load() + 1;
        for (const ts::wait_for& w : j.p->tasks[me].waits) {
            for (int k = 0; k < w.count; ++k) {
                const int other = j.p->order[ts::to_size(w.list)][ts::to_size(k)];
                b.early += b.runs[ts::to_size(other)].load() < now ? 1 : 0;
            }
        }
        b.runs[me].store(now);
    }
};

} // namespace

TEST_CASE("every device runs once on a thread of its own, device 0 on the caller's") {
    ts::workers w(5);
    for (int round = 0; round < 50; ++round) {
        std::vector<std::thread::id> ids(5);
        std::atomic<int> calls{0};
        auto body = [&](int device) {
            ids[ts::to_size(device)] = std::this_thread::get_id();
            ++calls;
        };
        w.run(body);
        CHECK(calls == 5);
        CHECK(ids[0] == std::this_thread::get_id());
        CHECK(std::set<std::thread::id>(ids.begin(), ids.end()).size() == 5);
    }
}

TEST_CASE("an exception on any device reaches the caller, and the workers live on") {
    ts::workers w(4);
    for (int round = 0; round < 40; ++round) {
        const int bad = round % 5; // 4: none
        std::atomic<int> others{0};
        auto body = [&](int device) {
            if (device == bad) {
                throw std::runtime_error("device " + std::to_string(device));
            }
            ++others;
        };
        std::string text = "none";
        try {
            w.run(body);
        } catch (const std::runtime_error& e) {
            text = e.what();
        }
        CHECK(text == (bad < 4 ? "device " + std::to_string(bad) : "none"));
        CHECK(others == (bad < 4 ? 3 : 4));
        CHECK(w.failed() == (bad < 4));
    }
    auto all = [](int device) { throw std::runtime_error("device " + std::to_string(device)); };
    CHECK_THROWS_AS(w.run(all), std::runtime_error); // one of them
}

TEST_CASE("workers that slept wake up, and an idle set of workers ends") {
    ts::workers w(3);
    for (int round = 0; round < 3; ++round) {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        std::atomic<int> calls{0};
        auto body = [&](int) { ++calls; };
        w.run(body);
        CHECK(calls == 3);
    }
    for (int round = 0; round < 20; ++round) {
        const ts::workers unused(1 + round % 4);
        CHECK(unused.devices() == 1 + round % 4);
    }
}

TEST_CASE("devices on any number of cores make progress in the plan's order, run after run, on one stream and on two") {
    const ts::graph g = ts::describe<network>(16);
    ts::workers threads(8);
    for (const int devices : {8, 1, 3, 5}) { // of them in use
        for (const bool overlap : {true, false, true}) {
            const ts::plan p = chained(g.view(), devices, overlap);
            CHECK(p.order.size() == ts::to_size(overlap ? 2 * devices : devices));
            std::size_t waits = 0;
            for (const ts::task& t : p.tasks) {
                waits += t.waits.size();
            }
            REQUIRE((devices < 8 || waits > 50));
            counting_backend backend(p.tasks.size());
            const ts::parameter_store store(p);
            ts::executor<counting_backend> runner(backend, threads, g.view(), p, store);
            const int rounds = devices == 8 ? 60 : 5;
            ts::simulation::timeline measured;
            for (int i = 1; i < rounds; ++i) {
                runner.run(ts::run_state{});
            }
            runner.run(ts::run_state{}, measured);
            const std::vector<ts::run_state> two(2); // the plan is of one step
            CHECK_THROWS_AS(runner.run(two), ts::error);
            CHECK(backend.early == 0);
            for (const auto& n : backend.runs) {
                CHECK(n == rounds);
            }
            for (std::size_t i = 0; i < p.tasks.size(); ++i) {
                for (const ts::wait_for& w : p.tasks[i].waits) {
                    const int other = p.order[ts::to_size(w.list)][ts::to_size(w.count - 1)];
                    CHECK(measured.tasks[ts::to_size(other)].end <= measured.tasks[i].start);
                }
            }
        }
    }
}

TEST_CASE("a task that throws ends the run for those that wait for it, whichever it is") {
    const ts::graph g = ts::describe<network>(8);
    ts::workers threads(4);
    const ts::plan plans[] = {chained(g.view(), 4), chained(g.view(), 4, true)};
    for (int bad = 0; bad < static_cast<int>(plans[0].tasks.size()); bad += 2) {
        const ts::plan& p = plans[bad / 2 % 2];
        const ts::parameter_store store(p);
        counting_backend backend(p.tasks.size());
        backend.fails = bad;
        ts::executor<counting_backend> runner(backend, threads, g.view(), p, store);
        std::string text;
        try {
            runner.run(ts::run_state{});
        } catch (const ts::error& e) {
            text = e.what();
        }
        CHECK(text == "task " + std::to_string(bad) + " has failed");
        // Nothing that comes after it on its device or waits for it has run.
        for (std::size_t i = 0; i < p.tasks.size(); ++i) {
            const ts::task& failed = p.tasks[ts::to_size(bad)];
            const ts::task& t = p.tasks[i];
            bool after = p.list_of(t) == p.list_of(failed) && t.position >= failed.position;
            for (const ts::wait_for& w : t.waits) {
                after = after || (w.list == p.list_of(failed) && w.count > failed.position);
            }
            CHECK((!after || backend.runs[i] == 0));
        }
        // The same executor runs again when the cause is gone.
        backend.fails = -1;
        CHECK_NOTHROW(runner.run(ts::run_state{}));
    }
}

TEST_CASE("what a backend throws while it prepares reaches the caller") {
    const ts::graph g = ts::describe<network>(9);
    const ts::plan p = chained(g.view(), 3, true);
    ts::workers threads(3);
    const ts::parameter_store store(p);
    for (const std::vector<int>& list : p.order) {
        counting_backend backend(p.tasks.size());
        backend.cannot_prepare = list.back();
        CHECK_THROWS_WITH_AS(ts::executor<counting_backend>(backend, threads, g.view(), p, store),
                             "task cannot be prepared", ts::error);
    }
}

TEST_CASE(
    "a run leaves its caller on the cores that it was on, also when they have changed since the devices were made") {
    cpu_set_t all;
    REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
    if (CPU_COUNT(&all) < 2) {
        MESSAGE("skipped: one core, on which nothing is pinned");
        return;
    }
    ts::workers w(2);
    auto nothing = [](int) {};
    auto fails = [](int) { throw std::runtime_error("failed"); };
    for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
        if (!CPU_ISSET(core, &all)) {
            continue;
        }
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
        cpu_set_t after;
        w.run(nothing);
        sched_getaffinity(0, sizeof after, &after);
        CHECK(CPU_EQUAL(&one, &after));
        CHECK_THROWS_AS(w.run(fails), std::runtime_error);
        sched_getaffinity(0, sizeof after, &after);
        CHECK(CPU_EQUAL(&one, &after));
    }
    sched_setaffinity(0, sizeof all, &all);
}

TEST_CASE("a forked child is told that its devices stayed behind, ends them, and makes its own") {
    auto owned = std::make_unique<ts::workers>(2);
    auto nothing = [](int) {};
    owned->run(nothing);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        alarm(20); // what hangs is killed
        int wrong = 1;
        try {
            owned->run(nothing);
        } catch (const ts::error& e) {
            wrong = std::string(e.what()).find("make devices and what uses them after fork()") == std::string::npos;
        }
        owned.reset();
        ts::workers one(1);
        one.run(nothing);
#ifndef __SANITIZE_THREAD__ // which knows no threads after fork()
        ts::workers fresh(2);
        fresh.run(nothing);
#endif
        _exit(wrong);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    owned->run(nothing); // the parent's go on
}
