// SPDX-License-Identifier: Apache-2.0
// Queues of pushes and pulls over slow links: the most urgent goes first, no step waits for the end of the one before,
// and neither changes a bit.
#include "support/planned.hpp"
#include "support/refusal.hpp"
#include "support/same_numbers.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/schedule/p3.hpp"
#include "tessera/simulate/threads.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>

namespace {

namespace ts = tessera;
using namespace test_support;

constexpr int devices = 2;
struct wide : ts::linear<16> {};
struct head : ts::linear<4> {};
struct tower : ts::sequential<ts::features<16>, ts::repeat<8, wide>, head, ts::cross_entropy> {};

const ts::sgd rule{.learning_rate = 0.05F, .momentum = 0.9F};

/// P3 in slices of half a weight. Its order of messages is as for a network that is faster than the devices: last
/// layers first.
ts::strategy sliced(const ts::graph_view& g, bool urgent_first) {
    const ts::schedule::worker_speed speed{1e-3, 1e3};
    const auto gradients = ts::schedule::gradients_of(g, speed, devices);
    ts::strategy s = data_parallel(g, devices, ts::schedule::p3(gradients, {devices, 128, speed}));
    s.sync.urgent_first = urgent_first;
    s.overlap = true;
    return s;
}

/// A session on links on which a slice is 2 ms under way, with all that it needs.
struct slow_session {
    ts::graph network = ts::describe<tower>(8);
    batch_data data{network.view(), 3};
    ts::reference::backend backend{ts::optimizer(rule)};
    ts::workers threads{devices};
    ts::session<ts::reference::backend> it;

    explicit slow_session(bool urgent_first, ts::index_t latency = 1'000'000, int steps_per_plan = 1)
        : it(network.view(), strategy_of(urgent_first, steps_per_plan), devices, rule, options(latency), backend,
             threads) {}

    ts::strategy strategy_of(bool urgent_first, int steps_per_plan) const {
        ts::strategy s = sliced(network.view(), urgent_first);
        s.steps_per_plan = steps_per_plan;
        return s;
    }
    static ts::session_options options(ts::index_t latency) {
        ts::session_options o;
        o.seed = 7;
        o.links.latency = latency;
        return o;
    }
};

/// Pairs of a device's transfers that went in the order of their urgency, and in the other.
std::pair<int, int> ordered_pairs(const ts::plan& p, const ts::simulation::timeline& seen) {
    std::pair<int, int> count;
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        for (std::size_t j = 0; j < p.tasks.size(); ++j) {
            const ts::task& a = p.tasks[i];
            const ts::task& b = p.tasks[j];
            if (a.params().method == ts::exchange::server && b.params().method == ts::exchange::server &&
                a.device == b.device && a.op < b.op) {
                ++(seen.tasks[i].start < seen.tasks[j].start ? count.first : count.second);
            }
        }
    }
    return count;
}

/// Transfers that went although a more urgent one of the same server was ready before the transfer before them had
/// ended (by more than what the clock and the counters may be apart).
int overtaken(const ts::plan& p, const ts::simulation::timeline& seen) {
    constexpr ts::index_t margin = 300'000;
    const auto ready = [&](int t) {
        ts::index_t when = 0;
        for (const ts::wait_for& w : p.tasks[ts::to_size(t)].waits) {
            when = std::max(when, seen.tasks[ts::to_size(p.order[ts::to_size(w.list)][ts::to_size(w.count - 1)])].end);
        }
        for (const int other : p.tasks[ts::to_size(t)].after) {
            when = std::max(when, seen.tasks[ts::to_size(other)].end);
        }
        return when;
    };
    int count = 0;
    for (int l = 2 * p.devices; l < p.lists(); ++l) {
        std::vector<int> went = p.order[ts::to_size(l)];
        std::sort(went.begin(), went.end(),
                  [&](int a, int b) { return seen.tasks[ts::to_size(a)].start < seen.tasks[ts::to_size(b)].start; });
        for (std::size_t k = 1; k < went.size(); ++k) {
            bool wrong = false;
            for (std::size_t later = k + 1; later < went.size(); ++later) {
                wrong = wrong || (p.tasks[ts::to_size(went[later])].priority < p.tasks[ts::to_size(went[k])].priority &&
                                  ready(went[later]) + margin < seen.tasks[ts::to_size(went[k - 1])].end);
            }
            count += wrong ? 1 : 0;
        }
    }
    return count;
}

bool reads_layer(const ts::graph_view& g, const ts::plan& p, const ts::task& t, int parameter) {
    for (const int r : t.reads) {
        const ts::tile& x = p.tiles[ts::to_size(r)];
        if (x.kind == ts::tile_kind::parameter && x.tensor == parameter) {
            return t.what == ts::pass::forward && g.ops[t.op].parameters.size() > 0;
        }
    }
    return false;
}

/// Of two steps one after the other: transfers of the first that end after the second has begun to compute, and tasks
/// of the second that compute with a parameter before it has come.
std::pair<int, int> late_transfers(const ts::graph_view& g, const ts::plan& p, const ts::simulation::timeline& first,
                                   const ts::simulation::timeline& second) {
    std::pair<int, int> count;
    ts::index_t begin = INT64_MAX;
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        const bool forward = p.tasks[i].kind() == ts::task_kind::compute && p.tasks[i].what == ts::pass::forward;
        begin = forward ? std::min(begin, second.begin + second.tasks[i].start) : begin;
    }
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        if (p.tasks[i].params().method != ts::exchange::server) {
            continue;
        }
        const ts::index_t end = first.begin + first.tasks[i].end;
        count.first += end > begin ? 1 : 0;
        for (std::size_t j = 0; j < p.tasks.size(); ++j) {
            const bool reads = reads_layer(g, p, p.tasks[j], p.tasks[i].params().parameter);
            count.second += reads && second.begin + second.tasks[j].start < end ? 1 : 0;
        }
    }
    return count;
}

} // namespace

TEST_CASE("over slow links a queue carries the slices of the first layers first, and no barrier ends a step") {
    for (const bool queued : {true, false}) {
        CAPTURE(queued);
        slow_session s(queued);
        const ts::plan& p = s.it.training_plan();
        CHECK(p.streams == (queued ? 3 : 2));
        std::deque<ts::simulation::timeline> seen(4);
        for (ts::simulation::timeline& t : seen) {
            s.it.step(s.data.inputs, t);
        }
        s.it.finish();
        for (std::size_t i = 0; i < seen.size(); ++i) {
            const auto [urgent, other] = ordered_pairs(p, seen[i]);
            CHECK(urgent + other > 100);
            if (queued) { // how many wait for each other depends on the machine; which of them goes does not
                CHECK(overtaken(p, seen[i]) <= 2);
            } else { // in the plan's order the last layers go first
                CHECK(other > 3 * urgent);
            }
            if (i > 0) {
                const auto [late, early] = late_transfers(s.network.view(), p, seen[i - 1], seen[i]);
                CHECK((queued ? late > 4 : late == 0));
                CHECK(early == 0);
            }
        }
    }
}

TEST_CASE("queues give the bits of messages in their order, step by step, in plans of several steps, and with short "
          "batches between") {
    const auto run = [](bool queued, ts::index_t latency) {
        slow_session s(queued, latency);
        const ts::graph small = ts::describe<tower>(5);
        const batch_data rest(small.view(), 9);
        std::vector<double> losses;
        for (int i = 0; i < 12; ++i) {
            losses.push_back(s.it.step(i % 4 == 2 ? rest.inputs : s.data.inputs));
            if (i % 4 == 0) {
                losses.push_back(s.it.evaluate(s.data.inputs).loss); // no update may be missing
            }
            if (i % 4 == 3) {
                const std::vector<float> now = s.it.parameter(0);
                losses.insert(losses.end(), now.begin(), now.end());
            }
        }
        for (int p = 0; p < s.network.view().parameter_count; ++p) {
            const std::vector<float> now = s.it.parameter(p);
            losses.insert(losses.end(), now.begin(), now.end());
            const auto copies = s.it.parameter_copies(p);
            CHECK(copies.size() == devices);
            CHECK(copies[0].second == copies[1].second);
        }
        return losses;
    };
    const std::vector<double> plain = run(false, 0);
    CHECK(run(true, 0) == plain);
    CHECK(run(true, 0) == plain);
    CHECK(run(true, 200'000) == plain);

    const auto several = [](bool queued, int steps_per_plan) {
        slow_session s(queued, 0, steps_per_plan);
        const std::vector<std::vector<ts::input_data>> batches(7, s.data.inputs);
        std::vector<double> losses = s.it.steps(batches);
        const std::vector<float> last = s.it.parameter(0);
        losses.insert(losses.end(), last.begin(), last.end());
        return losses;
    };
    CHECK(several(true, 3) == several(false, 1));
    CHECK(several(true, 1) == several(false, 1));
}

namespace {

/// Whose updates of one operator fail in the second step.
struct failing_backend : ts::reference::backend {
    int op = 0;
    failing_backend(int which) : backend(ts::optimizer(rule)), op(which) {}
    ts::runnable prepare(const ts::plan& p, int index, const ts::graph_view& g, const ts::addresses& where) {
        const ts::task& t = p.tasks[ts::to_size(index)];
        if (t.kind() == ts::task_kind::update && t.op == op) {
            return {[](void*, const ts::run_state& run) {
                        if (run.step == 1) {
                            throw ts::error("broken on the way");
                        }
                    },
                    nullptr};
        }
        return ts::reference::backend::prepare(p, index, g, where);
    }
};

} // namespace

TEST_CASE("what fails in a queue is told once, by the step or by who waits for it, and nothing hangs") {
    const ts::graph network = ts::describe<tower>(8);
    const batch_data data(network.view(), 3);
    for (const int op : {0, 7}) {
        CAPTURE(op);
        failing_backend backend(op);
        ts::workers threads(devices);
        ts::session<failing_backend> s(network.view(), sliced(network.view(), true), devices, rule,
                                       slow_session::options(100'000), backend, threads);
        s.step(data.inputs);
        s.finish();
        CHECK(message_of([&] {
                  s.step(data.inputs);
                  s.finish();
              }) == "broken on the way");
        CHECK_NOTHROW(s.finish());
        CHECK_NOTHROW((void)s.parameter(0));
    }
}

namespace {

/// Counts updates of steps that are refused.
struct watching_backend : ts::reference::backend {
    struct watched {
        ts::runnable own;
        std::atomic<int>* count;
    };
    std::atomic<int>* count;
    std::shared_ptr<std::deque<watched>> all = std::make_shared<std::deque<watched>>();
    std::shared_ptr<std::mutex> lock = std::make_shared<std::mutex>();
    explicit watching_backend(std::atomic<int>& n) : backend(ts::optimizer(rule)), count(&n) {}
    ts::runnable prepare(const ts::plan& p, int index, const ts::graph_view& g, const ts::addresses& where) {
        const ts::runnable own = ts::reference::backend::prepare(p, index, g, where);
        if (p.tasks[ts::to_size(index)].kind() != ts::task_kind::update) {
            return own;
        }
        const std::lock_guard<std::mutex> held(*lock);
        all->push_back({own, count});
        return {[](void* context, const ts::run_state& run) {
                    const auto& mine = *static_cast<const watched*>(context);
                    *mine.count += run.report->refuses(run.step) ? 1 : 0;
                    mine.own.call(mine.own.context, run);
                },
                &all->back()};
    }
};

} // namespace

TEST_CASE("no update of a step whose loss is not finite leaves a queue") {
    const ts::graph network = ts::describe<tower>(8);
    batch_data bad(network.view(), 3);
    bad.numbers[0].back() = std::numeric_limits<float>::quiet_NaN();
    bad.inputs[0] = std::span<const float>(bad.numbers[0]);
    std::atomic<int> count{0};
    watching_backend backend(count);
    ts::workers threads(devices);
    ts::session<watching_backend> s(network.view(), sliced(network.view(), true), devices, rule,
                                    slow_session::options(0), backend, threads);
    CHECK(contains(message_of([&] { s.step(bad.inputs); }), "is not a finite number"));
    s.finish();
    CHECK(count == 0);
}

TEST_CASE("a step whose loss is not finite changes nothing, though transfers of the step before are under way") {
    for (const ts::index_t latency : {0, 300'000}) {
        slow_session spared(true, latency);
        slow_session seen(true, latency);
        batch_data bad = seen.data;
        bad.numbers[0].back() = std::numeric_limits<float>::quiet_NaN();
        bad.inputs[0] = std::span<const float>(bad.numbers[0]);
        for (int i = 0; i < 3; ++i) {
            CHECK(seen.it.step(seen.data.inputs) == spared.it.step(spared.data.inputs));
            const std::string text = message_of([&] { seen.it.step(bad.inputs); });
            CHECK(contains(text, "the loss of step " + std::to_string(i + 2) + " is not a finite number"));
        }
        for (int p = 0; p < seen.network.view().parameter_count; ++p) {
            CHECK(seen.it.parameter(p) == spared.it.parameter(p));
        }
    }
}

TEST_CASE("an update in a queue that is not finite is told by the next step, or by who waits for the end") {
    for (const bool waits : {true, false}) {
        slow_session s(true, 100'000);
        std::vector<float> tiny = s.it.parameter(0);
        std::fill(tiny.begin(), tiny.end(), 1e-30F);
        s.it.set_parameter(0, tiny);
        s.it.set_learning_rate(std::numeric_limits<double>::infinity());
        const std::string text = message_of([&] {
            s.it.step(s.data.inputs);
            if (waits) {
                s.it.finish();
            } else {
                s.it.step(s.data.inputs);
            }
        });
        CHECK(contains(text, "is not finite, though the loss is"));
        CHECK(contains(text, "in step 1"));
    }
}

TEST_CASE("a plan whose queue may meet other tasks is refused") {
    const ts::graph network = ts::describe<tower>(8);
    const ts::graph_view g = network.view();
    ts::strategy s = sliced(g, true);
    s.steps_per_plan = 2;
    const ts::plan sound = planned(g, s, devices);
    CHECK(ts::verify(g, sound).text == "");
    int dropped = 0;
    for (std::size_t i = 0; i < sound.tasks.size(); ++i) {
        if (sound.tasks[i].after.empty() || i % 5 != 0) {
            continue;
        }
        ts::plan p = sound; // the first task of a list that uses what a queue has made
        p.tasks[i].after.clear();
        dropped += ts::verify(g, p) ? 1 : 0;
    }
    CHECK(dropped > 3);
    for (std::size_t i = 0; i < sound.tasks.size(); i += 7) {
        if (sound.tasks[i].priority >= 0) {
            ts::plan p = sound;
            p.tasks[i].waits.clear();
            CHECK(ts::verify(g, p));
            p = sound;
            p.tasks[i].priority = -1;
            CHECK(ts::verify(g, p).text.find("in a queue without a priority") != std::string::npos);
        }
    }
    ts::plan shared = sound; // a gradient that a queue reads gets the place of another tile
    for (ts::tile& x : shared.tiles) {
        if (x.kind == ts::tile_kind::parameter_gradient && x.device == 0 && x.alias < 0) {
            x.offset = 0;
        }
    }
    CHECK(ts::verify(g, shared).text.find("share memory") != std::string::npos);
}

TEST_CASE("the simulation of threads takes a queue's tasks by urgency, and a later step does not wait for all") {
    const ts::graph network = ts::describe<tower>(8);
    const ts::graph_view g = network.view();
    double steady[2] = {};
    for (const bool queued : {true, false}) {
        double makespan[2] = {};
        for (const int steps : {2, 6}) {
            ts::strategy s = sliced(g, queued);
            s.steps_per_plan = steps;
            const ts::plan p = planned(g, s, devices);
            std::vector<ts::simulation::thread_time> times;
            for (const ts::task& t : p.tasks) {
                const ts::index_t own = t.params().method == ts::exchange::server ? 2'000'000 : 200'000;
                times.push_back({own, own});
            }
            const ts::simulation::timeline t = ts::simulation::simulate(p, times, {});
            makespan[steps == 6] = static_cast<double>(t.makespan);
            if (steps == 2 && queued) {
                int late = 0; // of the first step's transfers
                ts::index_t begin = INT64_MAX;
                for (std::size_t i = 0; i < p.tasks.size(); ++i) {
                    begin = p.tasks[i].step == 1 && p.tasks[i].what == ts::pass::forward
                                ? std::min(begin, t.tasks[i].start)
                                : begin;
                }
                for (std::size_t i = 0; i < p.tasks.size(); ++i) {
                    late += p.tasks[i].step == 0 && p.tasks[i].priority >= 0 && t.tasks[i].end > begin ? 1 : 0;
                }
                CHECK(late > 4);
            }
        }
        steady[queued] = (makespan[1] - makespan[0]) / 4;
    }
    CHECK(steady[1] < 0.98 * steady[0]);
}
