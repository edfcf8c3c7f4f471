// SPDX-License-Identifier: Apache-2.0
// A backend with memory of its own and work around runs: when it is called, and that nothing of it is left behind.
#include "support/networks.hpp"
#include "support/same_numbers.hpp"

#include "tessera/backend/reference/backend.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

namespace ts = tessera;
using namespace test_support;

/// The reference backend, whose plans for evaluation may want more memory than they need.
class greedy_backend : public ts::reference::backend {
public:
    using ts::reference::backend::backend;

    void bind(ts::plan& p, const ts::graph_view&, const ts::parameter_store*) {
        bool for_training = false;
        for (const ts::task& t : p.tasks) {
            for_training = for_training || t.kind() == ts::task_kind::update;
        }
        for (ts::tile& t : p.tiles) { // the first that lies in an arena
            if (!for_training && greed > 0 && t.device == 0 && t.alias < 0 && !ts::is_persistent(t.kind)) {
                t.bytes = greed;
                break;
            }
        }
    }

    ts::index_t greed = 0; ///< bytes of one of their tiles; 0: what it needs
};

/// The same with a diary.
class watched_backend : public greedy_backend {
public:
    using greedy_backend::greedy_backend;

    ts::memory_source memory() {
        return {[](void* self, int device, ts::index_t bytes) -> void* {
                    auto& me = *static_cast<watched_backend*>(self);
                    me.devices.insert(device);
                    if (bytes > me.most) {
                        throw ts::error("no room");
                    }
                    me.taken[device] += bytes;
                    me.peak = std::max(me.peak, me.taken[device]);
                    void* p = std::aligned_alloc(64, ts::to_size((bytes + 64) / 64 * 64));
                    std::memset(p, 0, ts::to_size(bytes));
                    me.held[p] = bytes;
                    return p;
                },
                [](void* self, int device, void* p) {
                    auto& me = *static_cast<watched_backend*>(self);
                    me.taken[device] -= me.held[p];
                    me.held.erase(p);
                    std::free(p);
                },
                this};
    }
    void load(const ts::plan& p, const ts::graph_view&, const ts::addresses& where) {
        diary.push_back("load " + std::to_string(p.tasks.size() > 0) +
                        std::to_string(where[p.tasks[0].writes[0]] != nullptr));
        plans.insert(&where);
    }
    void unload(const ts::addresses& where) {
        plans.erase(&where);
        ts::reference::backend::unload(where);
    }
    void begin_run(const ts::addresses&, const ts::run_state& run, int first, int last) {
        diary.push_back("begin " + std::to_string(run.step) + " " + std::to_string(first) +
                        (last > first ? " on" : ""));
        if (does_not_begin) {
            throw ts::error("not begun");
        }
    }
    void end_run(const ts::addresses&, bool failed) {
        diary.push_back(failed ? "failed" : "end");
        if (does_not_end) {
            throw ts::error("not ended");
        }
    }
    void require_room(const std::vector<ts::index_t>& bytes) {
        asked.push_back(bytes);
        if (most_bytes > 0 && bytes[0] > most_bytes) {
            throw ts::error("not that many");
        }
    }

    ts::runnable prepare(const ts::plan& p, int index, const ts::graph_view& g, const ts::addresses& where) {
        if (breaks && p.tasks[ts::to_size(index)].kind() == ts::task_kind::update) {
            return {[](void*, const ts::run_state&) { throw ts::error("broken"); }, nullptr};
        }
        return ts::reference::backend::prepare(p, index, g, where);
    }

    std::map<void*, ts::index_t> held;
    std::map<int, ts::index_t> taken; ///< of every device
    ts::index_t peak = 0;             ///< of any device
    ts::index_t most = 1 << 30;       ///< that it gives at a time
    std::set<const ts::addresses*> plans;
    std::set<int> devices;
    std::vector<std::string> diary;
    bool breaks = false;
    ts::index_t most_bytes = 0; ///< that arenas may grow by; 0: any
    std::vector<std::vector<ts::index_t>> asked;
    bool does_not_begin = false;
    bool does_not_end = false;
};

struct running {
    ts::graph network = ts::describe<test_networks::mlp::network>(4);
    batch_data data{network.view(), 1};
    ts::strategy split{network.view()};
    ts::workers threads{2};

    running() { split.ops[0].degree[0] = 2; }
};

std::size_t loads(const watched_backend& b) {
    return ts::to_size(std::count(b.diary.begin(), b.diary.end(), "load 11"));
}

} // namespace

TEST_CASE("arenas come from the backend and go back to it; runs are announced and ended") {
    running r;
    watched_backend backend{ts::optimizer()};
    {
        ts::session<watched_backend> session(r.network.view(), r.split, 2, ts::optimizer(), {}, backend, r.threads);
        CHECK(backend.held.size() == 4); // parameters and working memory of two devices
        CHECK(backend.devices == std::set<int>{0, 1});
        const ts::plan& p = session.training_plan();
        const std::byte* tile = session.training_executor().memory()[p.tasks[0].writes[0]];
        bool inside = false;
        for (const auto& [start, bytes] : backend.held) {
            const auto* from = static_cast<std::byte*>(start);
            inside = inside || (tile >= from && tile < from + p.arena_bytes[0]);
        }
        CHECK(inside);
        session.step(r.data.inputs);
        session.step(r.data.inputs);
    }
    CHECK(backend.held.empty());
    CHECK(backend.diary == std::vector<std::string>{"load 11", "begin 0 0 on", "end", "begin 1 0 on", "end"});
}

TEST_CASE("a run that throws is ended as failed, and its error goes on") {
    running r;
    watched_backend backend{ts::optimizer()};
    backend.breaks = true;
    ts::session<watched_backend> session(r.network.view(), r.split, 2, ts::optimizer(), {}, backend, r.threads);
    CHECK_THROWS_WITH_AS(session.step(r.data.inputs), "broken", ts::error);
    CHECK(backend.diary == std::vector<std::string>{"load 11", "begin 0 0 on", "failed"});
}

TEST_CASE("a run whose begin throws is ended as failed too, and the first error is told") {
    running r;
    watched_backend backend{ts::optimizer()};
    backend.does_not_begin = backend.does_not_end = true;
    ts::session<watched_backend> session(r.network.view(), r.split, 2, ts::optimizer(), {}, backend, r.threads);
    CHECK_THROWS_WITH_AS(session.step(r.data.inputs), "not begun", ts::error);
    CHECK(backend.diary == std::vector<std::string>{"load 11", "begin 0 0 on", "failed"});
}

TEST_CASE("a backend is asked for room before the arenas of a plan are made") {
    running r;
    watched_backend backend{ts::optimizer()};
    using session = ts::session<watched_backend>;
    {
        watched_backend refuses{ts::optimizer()};
        refuses.most_bytes = 1;
        CHECK_THROWS_WITH_AS(session(r.network.view(), r.split, 2, ts::optimizer(), {}, refuses, r.threads),
                             "not that many", ts::error);
        CHECK(refuses.held.empty());
        CHECK(refuses.diary.empty());
    }
    // A plan that comes later is asked for by how much it wants more than there is; refused, it leaves everything where
    // it was.
    session s(r.network.view(), r.split, 2, ts::optimizer(), {}, backend, r.threads);
    const std::vector<ts::index_t> there = s.training_plan().arena_bytes;
    CHECK(backend.asked == std::vector<std::vector<ts::index_t>>{there});
    s.step(r.data.inputs);
    const std::map<void*, ts::index_t> held = backend.held;
    backend.greed = 1 << 20;
    backend.most_bytes = 1;
    CHECK_THROWS_WITH_AS(s.evaluate(r.data.inputs), "not that many", ts::error);
    CHECK(backend.held == held);
    CHECK(loads(backend) == 1);
    CHECK(backend.asked.back()[0] >= backend.greed - there[0]);
    CHECK(backend.asked.back()[0] < backend.greed);
    s.step(r.data.inputs);
}

TEST_CASE("the plans of a session share one arena on each device, which the memory limit holds, and old plans go") {
    const ts::graph network = ts::describe<test_networks::mlp::network>(32);
    ts::strategy split{network.view()};
    split.ops[0].degree[0] = 2;
    ts::workers threads{2};
    ts::index_t limit = 0;
    {
        watched_backend alone{ts::optimizer()};
        ts::session<watched_backend> session(network.view(), split, 2, ts::optimizer(), {}, alone, threads);
        limit = alone.peak;
        for (std::size_t d = 0; d < 2; ++d) {
            limit =
                std::max(limit, session.training_plan().arena_bytes[d] + session.training_plan().persistent_bytes[d]);
        }
    }
    watched_backend backend{ts::optimizer()};
    {
        ts::session<watched_backend> session(network.view(), split, 2, ts::optimizer(), {.device_memory = limit},
                                             backend, threads);
        for (int size = 32; size >= 8; --size) { // 24 short sizes, and evaluations between them
            const ts::graph g = ts::with_batch(network.view(), size);
            const batch_data data(g.view(), static_cast<std::uint64_t>(size));
            session.step(data.inputs);
            session.evaluate(data.inputs);
            CHECK(backend.plans.size() <= ts::most_ready_plans + 1);
        }
        CHECK(backend.peak <= limit);
        CHECK(backend.plans.size() == ts::most_ready_plans + 1);
        // What runs often stays: the full batch, and the one evaluation in turn with many others.
        const batch_data full(network.view(), 1);
        session.evaluate(full.inputs);
        const std::size_t loaded = loads(backend);
        std::size_t made = 0;
        for (int size = 1; size < 12; ++size) {
            const ts::graph g = ts::with_batch(network.view(), size);
            session.evaluate(batch_data(g.view(), 2).inputs);
            ++made;
            session.evaluate(full.inputs);
            session.step(full.inputs);
        }
        CHECK(loads(backend) <= loaded + made);
    }
    CHECK(backend.plans.empty());
    CHECK(backend.held.empty());
}

TEST_CASE("a plan that wants larger arenas moves the others, whose numbers and gradients stay; one that gets none "
          "changes nothing") {
    running r;
    for (const bool fails : {false, true}) {
        watched_backend backend{ts::optimizer()};
        watched_backend plain{ts::optimizer()};
        const ts::session_options options{.keep_gradients = true};
        ts::session<watched_backend> session(r.network.view(), r.split, 2, ts::optimizer(), options, backend,
                                             r.threads);
        ts::session<watched_backend> other(r.network.view(), r.split, 2, ts::optimizer(), options, plain, r.threads);
        const ts::index_t before = backend.taken[0];
        backend.greed = 1 << 20;
        CHECK(session.step(r.data.inputs) == other.step(r.data.inputs));
        const std::vector<float> gradient = other.gradient(0);
        if (fails) {
            backend.most = 1 << 19;
            CHECK_THROWS_WITH_AS(session.evaluate(r.data.inputs), "no room", ts::error);
            CHECK(backend.taken[0] == before);
        } else {
            CHECK(session.evaluate(r.data.inputs).loss == other.evaluate(r.data.inputs).loss);
            CHECK(backend.taken[0] >= before + (1 << 19));
            CHECK(backend.peak <= backend.taken[0]); // the small one went before the large one came
        }
        CHECK(session.gradient(0) == gradient);
        for (int i = 0; i < 3; ++i) {
            CHECK(session.step(r.data.inputs) == other.step(r.data.inputs));
            CHECK(session.gradient(1) == other.gradient(1));
        }
    }
}

TEST_CASE("the memory limit counts what the parameter store holds, also for plans that do not touch all of it") {
    running r;
    const ts::optimizer how(ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F}); // evaluations have no velocity
    ts::index_t needed = 0;
    for (const ts::index_t spare : {ts::index_t{1} << 30, ts::index_t{0}, ts::index_t{-1}}) {
        watched_backend backend{how};
        backend.greed = 1 << 20;
        ts::session<watched_backend> session(r.network.view(), r.split, 2, how, {.device_memory = needed + spare},
                                             backend, r.threads);
        if (spare < 0) {
            CHECK_THROWS_WITH_AS(session.evaluate(r.data.inputs),
                                 doctest::Contains("of them for parameters and optimizer state"), ts::error);
        } else {
            session.evaluate(r.data.inputs);
            const ts::index_t there = session.training_plan().arena_bytes[0];
            needed = session.training_plan().persistent_bytes[0] + there + backend.asked.back()[0];
        }
        session.step(r.data.inputs);
    }
}

TEST_CASE("losses are guarded where they lie after the arenas have moved") {
    running r;
    greedy_backend backend{ts::optimizer()};
    backend.greed = 1 << 20;
    ts::session<greedy_backend> session(r.network.view(), r.split, 2, ts::optimizer(), {}, backend, r.threads);
    session.step(r.data.inputs);
    session.evaluate(r.data.inputs);
    const std::vector<float> before = session.parameter(0);
    const std::vector<float> nan(ts::to_size(session.graph_of().tensors[0].extents.volume()), NAN);
    std::vector<ts::input_data> broken = r.data.inputs;
    broken[0].data = nan.data();
    CHECK_THROWS_WITH_AS(session.step(broken), doctest::Contains("the step is not taken"), ts::error);
    CHECK(session.parameter(0) == before);
    session.step(r.data.inputs);
    CHECK(session.parameter(0) != before);
}

TEST_CASE("gradients are those of the last full training step, whatever ran since") {
    running r;
    watched_backend backend{ts::optimizer()};
    ts::session<watched_backend> session(r.network.view(), r.split, 2, ts::optimizer(), {.keep_gradients = true},
                                         backend, r.threads);
    CHECK_THROWS_WITH_AS(session.gradient(0),
                         "tessera: there are no gradients before the first training step on a full batch", ts::error);
    const ts::graph small = ts::with_batch(r.network.view(), 2);
    const batch_data data(small.view(), 3);
    session.evaluate(r.data.inputs);
    CHECK_THROWS_AS(session.gradient(0), ts::error);
    for (int round = 0; round < 2; ++round) {
        session.step(r.data.inputs);
        const std::vector<float> fresh = session.gradient(0);
        CHECK(std::any_of(fresh.begin(), fresh.end(), [](float x) { return x != 0; }));
        session.evaluate(r.data.inputs);
        CHECK(session.gradient(0) == fresh);
        session.step(data.inputs);
        CHECK(session.gradient(0) == fresh);
    }
    ts::session<watched_backend> forgetful(r.network.view(), r.split, 2, ts::optimizer(), {}, backend, r.threads);
    forgetful.step(r.data.inputs);
    CHECK_THROWS_AS(forgetful.gradient(0), ts::error);
}
