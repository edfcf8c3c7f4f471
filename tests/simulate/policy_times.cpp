// SPDX-License-Identifier: Apache-2.0
// What a policy's name promises shows in the times: a blocking one waits for the backward pass, P3 hides what blocking
// shows, steps overlap where no barrier is promised, and servers take gradients in at their own rate.
#include "support/planned.hpp"
#include "support/policies.hpp"
#include "support/star.hpp"

#include "tessera/simulate/simulate.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace {

namespace ts = tessera;
namespace sim = tessera::simulation;
using test_support::data_parallel;
using ts::index_t;

constexpr int width = 64;
constexpr int layers = 8;
template <int I>
struct fc : ts::linear<width> {};
struct equal_layers
    : ts::sequential<ts::features<width>, fc<0>, ts::relu, fc<1>, ts::relu, fc<2>, ts::relu, fc<3>, ts::relu, fc<4>,
                     ts::relu, fc<5>, ts::relu, fc<6>, ts::relu, fc<7>, ts::cross_entropy> {};
constexpr index_t gradient_bytes = 4 * layers * (width * width + width);
constexpr int workers = 4;

struct run {
    ts::plan plan;
    sim::timeline when;
    index_t makespan() const { return when.makespan; }
};

run simulated(const ts::graph_view& g, const ts::cluster& on, const ts::synchronization& sync, int steps_per_plan = 1,
              const sim::task_times& times = {}) {
    ts::strategy s = data_parallel(g, workers, sync);
    s.steps_per_plan = steps_per_plan;
    ts::lower_options o;
    o.update = ts::sgd{};
    run r{test_support::planned(g, s, workers, o), {}};
    r.when = sim::simulate(g, r.plan, on, times);
    return r;
}

bool computes(const ts::task& t) { return t.kind() == ts::task_kind::compute; }
bool goes_backward(const ts::task& t) { return computes(t) && t.what == ts::pass::backward; }
/// It takes something from another device.
bool communicates(const ts::plan& p, const ts::task& t) {
    return t.params().parameter >= 0 && std::any_of(t.reads.begin(), t.reads.end(),
                                                    [&](int r) { return p.tiles[ts::to_size(r)].device != t.device; });
}

/// The ends (or starts) of the tasks of which something holds.
template <class Holds>
index_t last_end(const run& r, const Holds& holds) {
    index_t last = 0;
    for (std::size_t i = 0; i < r.plan.tasks.size(); ++i) {
        last = holds(r.plan.tasks[i]) ? std::max(last, r.when.tasks[i].end) : last;
    }
    return last;
}
template <class Holds>
index_t first_start(const run& r, const Holds& holds) {
    index_t first = INT64_MAX;
    for (std::size_t i = 0; i < r.plan.tasks.size(); ++i) {
        first = holds(r.plan.tasks[i]) ? std::min(first, r.when.tasks[i].start) : first;
    }
    return first;
}

/// A machine on which one step's computing takes about as long as sending its gradients.
struct balanced {
    ts::graph network = ts::describe<equal_layers>(512);
    ts::graph_view g = network.view();
    index_t compute = 0; ///< ns, without any communication
    ts::cluster on = machine(1);

    static ts::cluster machine(index_t megabytes) { return test_support::star(workers, 100, 1'000'000, megabytes); }
    balanced() {
        const ts::cluster fast = machine(1'000'000'000);
        compute = simulated(g, fast, ts::schedule::blocking_all_reduce(ts::schedule::gradients_of(g))).makespan();
        on = machine(std::max<index_t>(1, 2 * (workers - 1) * gradient_bytes * 1000 / workers / compute));
    }
    ts::schedule::worker_speed speed() const {
        return {100,
                2.0 * (workers - 1) / workers * static_cast<double>(gradient_bytes) / static_cast<double>(compute)};
    }
    std::vector<ts::schedule::ready_gradient> gradients() const {
        return ts::schedule::gradients_of(g, speed(), workers);
    }
};

} // namespace

TEST_CASE("a blocking policy sends nothing before all has gone backward; the others do") {
    const balanced b;
    const auto early = [&](const run& r) { // ns from the first communication to the end of the backward pass
        return last_end(r, goes_backward) - first_start(r, [&](const ts::task& t) { return communicates(r.plan, t); });
    };
    const run blocking = simulated(b.g, b.on, ts::schedule::blocking_all_reduce(b.gradients()));
    CHECK(early(blocking) <= 0);
    // Not only because its first message is of the gradient that comes last.
    ts::synchronization reversed = ts::schedule::blocking_all_reduce(b.gradients());
    std::reverse(reversed.messages.begin(), reversed.messages.end());
    CHECK(early(simulated(b.g, b.on, reversed)) <= 0);
    CHECK(early(simulated(b.g, b.on, ts::schedule::zero(b.gradients(), 1, 1000))) <= 0);
    // Computing, then communicating.
    const double sum = static_cast<double>(b.compute) * 2;
    CHECK(static_cast<double>(blocking.makespan()) > 0.97 * sum);
    CHECK(static_cast<double>(blocking.makespan()) < 1.03 * sum);
    for (const auto& sync :
         {ts::schedule::buckets(b.gradients(), {1000, 1000}), ts::schedule::tensor_fusion(b.gradients(), {1000, 1000}),
          ts::schedule::parameter_server(b.gradients(), {workers, 1}),
          ts::schedule::p3(b.gradients(), {workers, 1000, b.speed()})}) {
        const run r = simulated(b.g, b.on, sync);
        CHECK(early(r) > b.compute / 3);
        CHECK(r.makespan() < blocking.makespan() * 9 / 10);
    }
}

TEST_CASE("P3 hides what blocking shows, over half of it where computing takes as long as communicating") {
    const balanced b;
    const auto step = [&](const ts::synchronization& sync) { // ns, of the later of several
        return (simulated(b.g, b.on, sync, 5).makespan() - simulated(b.g, b.on, sync, 2).makespan()) / 3;
    };
    const index_t blocking = step(ts::schedule::blocking_all_reduce(b.gradients()));
    const index_t p3 = step(ts::schedule::p3(b.gradients(), {workers, 250, b.speed()}));
    MESSAGE("computing " << b.compute << " ns; steps: blocking " << blocking << ", P3 " << p3);
    CHECK(p3 >= b.compute);
    CHECK(blocking > b.compute * 3 / 2);
    CHECK(2 * (p3 - b.compute) < blocking - b.compute); // what is not hidden
}

TEST_CASE("steps overlap: there is no barrier between them") {
    const balanced b;
    const ts::schedule::credit_rule reduced{ts::exchange::all_reduce, 1, 500, 2000, b.speed()};
    const ts::schedule::credit_rule served{ts::exchange::server, workers, 500, 2000, b.speed()};
    for (const auto& sync :
         {ts::schedule::p3(b.gradients(), {workers, 500, b.speed()}),
          ts::schedule::byte_scheduler(b.gradients(), reduced), ts::schedule::byte_scheduler(b.gradients(), served)}) {
        const index_t one = simulated(b.g, b.on, sync).makespan();
        const run two = simulated(b.g, b.on, sync, 2);
        const index_t begun = first_start(two, [](const ts::task& t) { return computes(t) && t.step == 1; });
        const index_t over = last_end(two, [](const ts::task& t) { return t.params().parameter >= 0 && t.step == 0; });
        CHECK(begun < over);
        CHECK(two.makespan() < 2 * one - b.compute / 20); // a barrier makes it twice as long
    }
}

TEST_CASE("servers take gradients in at their rate") {
    const balanced b;
    const ts::cluster fast = balanced::machine(1'000'000'000);
    const auto sync = ts::schedule::parameter_server(b.gradients(), {workers, 1}); // each has a quarter of all
    for (const index_t megabytes : {index_t{1}, index_t{3}}) {
        sim::task_times times;
        times.server_megabytes = megabytes;
        const auto wanted = static_cast<double>(gradient_bytes * 1000 / megabytes); // of four workers, on four servers
        const auto found = static_cast<double>(simulated(b.g, fast, sync, 1, times).makespan() - b.compute);
        CAPTURE(megabytes);
        CHECK(found > 0.98 * wanted - static_cast<double>(b.compute));
        CHECK(found < 1.02 * wanted);
        // To the nanosecond: each update holds its server for the bytes of all contributions, rounded up.
        const run r = simulated(b.g, fast, sync, 1, times);
        std::vector<index_t> work(workers, 0);
        for (const ts::task& t : r.plan.tasks) {
            if (t.kind() == ts::task_kind::update) {
                const ts::tile& x = r.plan.tiles[ts::to_size(t.writes[0])];
                const auto contributions = static_cast<index_t>(t.reads.size());
                const index_t taken = contributions * ts::slice_of(x, t).size() * 4;
                work[ts::to_size(t.device)] += taken * 1000 / megabytes + 1;
            }
        }
        for (int server = 0; server < workers; ++server) {
            const auto lane = ts::to_size(fast.lanes() + fast.devices() + server);
            CHECK(r.when.lane_busy[lane] == work[ts::to_size(server)]);
        }
    }
}
