// SPDX-License-Identifier: Apache-2.0
// A backend with memory of its own and work around runs: when it is called, and that nothing of it is left behind.
#include "support/networks.hpp"
#include "support/same_numbers.hpp"

#include "tessera/backend/reference/backend.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace {

namespace ts = tessera;
using namespace test_support;

/// The reference backend, with a diary.
class watched_backend : public ts::reference::backend {
public:
    using ts::reference::backend::backend;

    ts::memory_source memory() {
        return {[](void* self, int device, ts::index_t bytes) -> void* {
                    auto& me = *static_cast<watched_backend*>(self);
                    me.devices.insert(device);
                    void* p = std::aligned_alloc(64, static_cast<std::size_t>((bytes + 64) / 64 * 64));
                    std::memset(p, 0, static_cast<std::size_t>(bytes));
                    me.held.insert(p);
                    return p;
                },
                [](void* self, int, void* p) {
                    static_cast<watched_backend*>(self)->held.erase(p);
                    std::free(p);
                },
                this};
    }
    void load(const ts::plan& p, const ts::graph_view&, const ts::addresses& where) {
        diary.push_back("load " + std::to_string(p.tasks.size() > 0) +
                        std::to_string(where[p.tasks[0].writes[0]] != nullptr));
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
    void require_room(const ts::plan& p) {
        if (most_bytes > 0 && p.arena_bytes[0] > most_bytes) {
            throw ts::error("no room");
        }
    }

    ts::runnable prepare(const ts::plan& p, int index, const ts::graph_view& g, const ts::addresses& where) {
        if (breaks && p.tasks[static_cast<std::size_t>(index)].kind == ts::task_kind::update) {
            return {[](void*, const ts::run_state&) { throw ts::error("broken"); }, nullptr};
        }
        return ts::reference::backend::prepare(p, index, g, where);
    }

    std::set<void*> held;
    std::set<int> devices;
    std::vector<std::string> diary;
    bool breaks = false;
    ts::index_t most_bytes = 0; ///< of an arena; 0: any
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
        for (void* start : backend.held) {
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
    backend.most_bytes = 1;
    using session = ts::session<watched_backend>;
    CHECK_THROWS_WITH_AS(session(r.network.view(), r.split, 2, ts::optimizer(), {}, backend, r.threads), "no room",
                         ts::error);
    CHECK(backend.held.empty());
    CHECK(backend.diary.empty());
}
