// SPDX-License-Identifier: Apache-2.0
// Plans of random strategies are sound; broken ones are refused. What a mutation does to the order of tasks is judged
// by a transitive closure that shares nothing with the verifier.
#include "tessera/net/graph_builder.hpp"
#include "tessera/plan/finish.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/schedule/p3.hpp"

#include "support/networks.hpp"
#include "support/planned.hpp"
#include "support/random_strategy.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace ts = tessera;
using random_numbers = test_support::random;

struct subject {
    ts::graph network;
    int devices = 1;
    ts::plan p;
};

subject planned(ts::graph network, int devices, std::uint64_t seed) {
    test_support::coverage seen;
    subject s{std::move(network), devices, {}};
    const ts::strategy strategy = test_support::random_strategy(s.network.view(), devices, seed, seen);
    ts::lower_options o;
    o.update =
        seed % 3 == 2 ? ts::optimizer(ts::sgd{.momentum = 0.9F}, 1.0F) : ts::optimizer(ts::sgd{.momentum = 0.9F});
    s.p = ts::lower(s.network.view(), strategy.view(), devices, o);
    if (seed % 2 == 1) {
        test_support::random_streams(s.p, seed);
    }
    ts::finish(s.network.view(), s.p);
    return s;
}

/// The plans that are mutated: small ones of every network.
std::vector<subject> subjects(int each) {
    namespace n = test_networks;
    std::vector<subject> all;
    for (int i = 0; i < each; ++i) {
        const auto seed = static_cast<std::uint64_t>(i);
        all.push_back(planned(ts::describe<n::mlp::network>(6), 2 + i % 3, seed));
        all.push_back(planned(ts::describe<n::unet::network>(4), 2 + i % 3, 100 + seed));
        all.push_back(planned(ts::describe<n::residual_net::network>(4), 2 + i % 3, 200 + seed));
        all.push_back(planned(ts::describe<n::two_losses::network>(4), 2 + i % 4, 300 + seed));
    }
    return all;
}

void renumber(ts::plan& p) {
    for (const std::vector<int>& list : p.order) {
        for (std::size_t i = 0; i < list.size(); ++i) {
            p.tasks[ts::to_size(list[i])].position = static_cast<int>(i);
        }
    }
}

/// What comes before what, as sets of bits; whether a task comes before itself.
struct closure {
    std::vector<std::vector<std::uint64_t>> before; ///< [task]: the tasks before it, 64 in a word
    bool cyclic = false;

    explicit closure(const ts::plan& p) : before(p.tasks.size()) {
        std::vector<int> state(p.tasks.size(), 0);
        for (std::size_t i = 0; i < p.tasks.size(); ++i) {
            visit(p, static_cast<int>(i), state);
        }
    }
    bool comes(int earlier, int later) const {
        return (before[ts::to_size(later)][ts::to_size(earlier) / 64] >> (ts::to_size(earlier) % 64) & 1U) != 0;
    }

private:
    void visit(const ts::plan& p, int i, std::vector<int>& state) {
        if (state[ts::to_size(i)] != 0) {
            cyclic = cyclic || state[ts::to_size(i)] == 1;
            return;
        }
        state[ts::to_size(i)] = 1;
        std::vector<std::uint64_t> mine(p.tasks.size() / 64 + 1, 0);
        const ts::task& t = p.tasks[ts::to_size(i)];
        const auto follow = [&](int earlier) {
            visit(p, earlier, state);
            mine[ts::to_size(earlier) / 64] |= std::uint64_t{1} << (ts::to_size(earlier) % 64);
            const std::vector<std::uint64_t>& theirs = before[ts::to_size(earlier)];
            for (std::size_t k = 0; k < theirs.size(); ++k) {
                mine[k] |= theirs[k];
            }
        };
        if (t.position > 0) {
            follow(p.order[ts::to_size(p.list_of(t))][ts::to_size(t.position - 1)]);
        }
        for (const ts::wait_for& w : t.waits) {
            for (int k = 0; k < w.count; ++k) {
                follow(p.order[ts::to_size(w.list)][ts::to_size(k)]);
            }
        }
        before[ts::to_size(i)] = mine;
        state[ts::to_size(i)] = 2;
    }
};

/// Every task's accesses, worked out here from its fields.
struct touch {
    int task = 0;
    int tile = 0;
    ts::interval elements;
    bool write = false;
};

std::vector<touch> touches(const ts::plan& p) {
    std::vector<touch> all;
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        const ts::task& t = p.tasks[i];
        const auto add = [&](int which, bool write) {
            const ts::tile& x = p.tiles[ts::to_size(p.root(which))];
            ts::interval e{0, x.elements};
            if (t.params().slices > 1 && x.kind != ts::tile_kind::scalar && x.kind != ts::tile_kind::optimizer_state) {
                e = {t.params().slice * x.elements / t.params().slices,
                     (t.params().slice + 1) * x.elements / t.params().slices};
            }
            if (e.begin < e.end) {
                all.push_back({static_cast<int>(i), p.root(which), e, write});
            }
        };
        for (int r : t.reads) {
            add(r, false);
        }
        for (int w : t.writes) {
            add(w, true);
        }
        if (t.params().state >= 0) {
            add(t.params().state, true);
        }
    }
    return all;
}

/// True if every two tasks that touch an element, one of them writing, come in the order that `original` lists them,
/// and tiles that share bytes of an arena are used one after the other.
bool keeps_order(const ts::plan& p, const std::vector<touch>& all) {
    const closure c(p);
    if (c.cyclic) {
        return false;
    }
    std::map<std::pair<int, int>, int> direction; // of two tiles that share memory: who is first
    for (const touch& a : all) {
        for (const touch& b : all) {
            if (a.task > b.task || (a.task == b.task && a.tile >= b.tile)) {
                continue;
            }
            if (a.tile == b.tile) {
                const bool meet = a.elements.begin < b.elements.end && b.elements.begin < a.elements.end;
                if (meet && (a.write || b.write) && !c.comes(a.task, b.task)) {
                    return false;
                }
                continue;
            }
            const ts::tile& x = p.tiles[ts::to_size(a.tile)];
            const ts::tile& y = p.tiles[ts::to_size(b.tile)];
            if (x.device != y.device || x.device < 0 || ts::is_persistent(x.kind) || ts::is_persistent(y.kind) ||
                x.offset + x.bytes <= y.offset || y.offset + y.bytes <= x.offset) {
                continue;
            }
            const int first = c.comes(a.task, b.task) ? a.tile : c.comes(b.task, a.task) ? b.tile : -1;
            const auto found = direction.insert({{std::min(a.tile, b.tile), std::max(a.tile, b.tile)}, first});
            if (first < 0 || found.first->second != first ||
                p.tiles[ts::to_size(first)].keep) { // what is kept outlives the run
                return false;
            }
        }
    }
    return true;
}

bool touches_nothing(const std::vector<touch>& all, int tile) {
    return std::none_of(all.begin(), all.end(), [tile](const touch& t) { return t.tile == tile; });
}

std::string verdict_of(const subject& s, const ts::plan& p) { return ts::verify(s.network.view(), p).text; }

bool says(const std::string& text, const char* words) { return text.find(words) != std::string::npos; }

/// Takes task `gone` out of a plan.
ts::plan without(const ts::plan& from, int gone) {
    ts::plan p = from;
    const ts::task removed = p.tasks[ts::to_size(gone)];
    p.tasks.erase(p.tasks.begin() + gone);
    std::vector<int>& own = p.order[ts::to_size(p.list_of(removed))];
    own.erase(own.begin() + removed.position);
    for (std::vector<int>& list : p.order) {
        for (int& i : list) {
            i -= i > gone ? 1 : 0;
        }
    }
    for (ts::task& t : p.tasks) {
        for (ts::wait_for& w : t.waits) {
            w.count -= w.list == p.list_of(removed) && w.count > removed.position ? 1 : 0;
        }
    }
    renumber(p);
    return p;
}

/// Nobody needs what a task leaves: a replica's contribution of which a copy is taken elsewhere.
bool is_dead(const ts::plan& p, int i) {
    const ts::task& t = p.tasks[ts::to_size(i)];
    if (t.what == ts::pass::update) {
        return false;
    }
    for (int w : t.writes) {
        if (p.tiles[ts::to_size(p.root(w))].keep) {
            return false;
        }
        for (const ts::task& other : p.tasks) {
            for (int r : other.reads) {
                if (p.root(r) == p.root(w)) {
                    return false;
                }
            }
        }
    }
    return true;
}

} // namespace

TEST_CASE("plans of random strategies are sound") {
    namespace n = test_networks;
    const std::vector<ts::graph> networks{
        ts::describe<n::mlp::network>(8), ts::describe<n::unet::network>(4), ts::describe<n::inception::network>(4),
        ts::describe<n::two_losses::network>(5), ts::describe<n::residual_net::network>(4)};
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        for (const ts::graph& g : networks) {
            CAPTURE(seed);
            CHECK_NOTHROW(planned(g, 1 + static_cast<int>(seed % 8), seed)); // finish() verifies
        }
    }
}

TEST_CASE("a removed wait, and two tasks in the other order, are refused exactly where they matter") {
    random_numbers pick{77};
    int harmless = 0;
    int caught = 0;
    for (const subject& s : subjects(2)) {
        const std::vector<touch> all = touches(s.p);
        REQUIRE(keeps_order(s.p, all));
        for (int k = 0; k < 30; ++k) {
            ts::plan p = s.p;
            bool updates = false;
            if (k % 2 == 0) {
                ts::task& t = p.tasks[ts::to_size(pick(static_cast<int>(p.tasks.size())))];
                if (t.waits.empty()) {
                    continue;
                }
                t.waits.erase(t.waits.begin() + pick(static_cast<int>(t.waits.size())));
            } else {
                std::vector<int>& list = p.order[ts::to_size(pick(p.lists()))];
                if (list.size() < 2) {
                    continue;
                }
                const int i = pick(static_cast<int>(list.size()) - 1);
                const int j = k % 4 == 1 ? i + 1 : pick(static_cast<int>(list.size()));
                if (i == j) {
                    continue;
                }
                updates = p.tasks[ts::to_size(list[ts::to_size(i)])].params().slices > 1 ||
                          p.tasks[ts::to_size(list[ts::to_size(j)])].params().slices > 1;
                std::swap(list[ts::to_size(i)], list[ts::to_size(j)]);
                renumber(p);
            }
            const bool good = keeps_order(p, all);
            const std::string text = verdict_of(s, p);
            CAPTURE(text);
            CAPTURE(k);
            if (good) {
                CHECK((text.empty() || (updates && says(text, "different orders"))));
                ++harmless;
            } else {
                CHECK((says(text, "a race") || says(text, "nothing has written") || says(text, "deadlock") ||
                       says(text, "alive together") || says(text, "updated already") ||
                       says(text, "different orders") || says(text, "are to read before it")));
                ++caught;
            }
        }
    }
    CHECK(caught > 100);
    CHECK(harmless > 5);
    MESSAGE(caught << " mutations of the order caught, " << harmless << " shown harmless");
}

TEST_CASE("a task that changes streams is refused exactly where nothing else orders it") {
    int harmless = 0;
    int caught = 0;
    for (const subject& s : subjects(2)) {
        const std::vector<touch> all = touches(s.p);
        for (std::size_t i = 0; i < s.p.tasks.size(); i += 3) {
            ts::plan p = s.p;
            ts::task& t = p.tasks[i];
            if (p.streams == 1 || t.kind() == ts::task_kind::compute || t.params().slices > 1) {
                continue;
            }
            const bool leaves = t.stream == ts::task_stream::compute;
            t.stream = leaves ? ts::task_stream::communication : ts::task_stream::compute;
            p.order.assign(ts::to_size(p.lists()), {});
            for (std::size_t k = 0; k < p.tasks.size(); ++k) {
                p.order[ts::to_size(p.list_of(p.tasks[k]))].push_back(static_cast<int>(k));
            }
            renumber(p);
            bool counts = true; // whoever waits for more tasks than a list has left waits for ever
            for (const ts::task& x : p.tasks) {
                for (const ts::wait_for& w : x.waits) {
                    counts = counts && ts::to_size(w.count) <= p.order[ts::to_size(w.list)].size();
                }
            }
            const std::string text = verdict_of(s, p);
            CAPTURE(text);
            if (counts && keeps_order(p, all)) {
                CHECK(text == "");
                ++harmless;
            } else {
                CHECK((says(text, "a race") || says(text, "nothing has written") || says(text, "deadlock") ||
                       says(text, "alive together") || says(text, "updated already")));
                ++caught;
            }
        }
    }
    CHECK(caught > 50);
    CHECK(harmless > 0);
    MESSAGE(caught << " changes of stream caught, " << harmless << " shown harmless");
}

TEST_CASE("streams that do not fit together are refused by name") {
    namespace n = test_networks;
    ts::graph g = ts::describe<n::mlp::network>(6);
    const subject s = planned(std::move(g), 3, 1);
    REQUIRE(s.p.streams == 2);
    REQUIRE(verdict_of(s, s.p) == "");
    ts::plan p = s.p;
    p.streams = 1;
    CHECK(says(verdict_of(s, p), "6 lists for 3 devices of 1 streams"));
    int computes = 0;
    int members = 0;
    for (std::size_t i = 0; i < s.p.tasks.size(); ++i) {
        p = s.p;
        ts::task& t = p.tasks[i];
        t.stream = t.stream == ts::task_stream::compute ? ts::task_stream::communication : ts::task_stream::compute;
        const bool shares = t.kind() == ts::task_kind::update && t.params().slices > 1;
        const bool computes_now = t.kind() == ts::task_kind::compute;
        CHECK(says(verdict_of(s, p), "names a task that is not its own"));
        ts::set_waits(p);
        CHECK(says(verdict_of(s, p), computes_now ? "a computation is on a communication stream"
                                     : shares     ? "are on different streams"
                                                  : ""));
        computes += computes_now ? 1 : 0;
        members += shares ? 1 : 0;
    }
    CHECK(computes > 0);
    CHECK(members > 0);
}

TEST_CASE("a dropped task is noticed") {
    int caught = 0;
    int dead = 0;
    for (const subject& s : subjects(1)) {
        for (int i = 0; i < static_cast<int>(s.p.tasks.size()); ++i) {
            const std::string text = verdict_of(s, without(s.p, i));
            if (is_dead(s.p, i)) {
                CHECK((text.empty() || says(text, "produced")));
                ++dead;
                continue;
            }
            CAPTURE(i);
            CAPTURE(std::string(ts::to_text(s.p.tasks[ts::to_size(i)].kind())));
            CAPTURE(text);
            CAPTURE(std::string(ts::to_text(s.p.tasks[ts::to_size(i)].what)));
            // What it ordered may be missed before what it made.
            CHECK((says(text, "nothing has written") || says(text, "produced") ||
                   says(text, "not updated exactly once") || says(text, "lacks members") ||
                   says(text, "exactly once") || says(text, "a race") ||
                   says(text, "lacks the contribution of a shard") || says(text, "another norm than") ||
                   says(text, "alive together")));
            ++caught;
        }
    }
    CHECK(caught > 200);
    MESSAGE(caught << " dropped tasks caught, " << dead << " whose results nobody reads");
}

TEST_CASE("a wrong copy is refused") {
    random_numbers pick{5};
    int caught = 0;
    for (const subject& s : subjects(2)) {
        for (int i = 0; i < static_cast<int>(s.p.tasks.size()); ++i) {
            if (s.p.tasks[ts::to_size(i)].kind() != ts::task_kind::copy ||
                s.p.tasks[ts::to_size(i)].copy().segments.empty()) {
                continue;
            }
            ts::plan nowhere = s.p;
            nowhere.tasks[ts::to_size(i)].writes.clear();
            CHECK(says(verdict_of(s, nowhere), "a copy has no target"));
            for (int how = 0; how < 4; ++how) {
                ts::plan p = s.p;
                ts::task& t = p.tasks[ts::to_size(i)];
                const int k = pick(static_cast<int>(t.copy().segments.size()));
                ts::copy_segment& seg = t.mutable_copy().segments[ts::to_size(k)];
                const int d = pick(std::max(1, seg.region.rank));
                if (how == 0) {
                    t.mutable_copy().segments.erase(t.copy().segments.begin() + k);
                } else if (how == 1) {
                    --seg.region.dim[d].end;
                } else if (how == 2) {
                    ++seg.region.dim[d].end;
                } else {
                    ++seg.region.dim[d].begin;
                    ++seg.region.dim[d].end;
                }
                const std::string text = verdict_of(s, p);
                CAPTURE(how);
                CAPTURE(std::string(ts::to_text(p.tiles[ts::to_size(t.writes[0])].kind)));
                CAPTURE(text);
                CHECK((says(text, "a copy leaves elements") || says(text, "a copy writes an element twice") ||
                       says(text, "that its source does not have") || says(text, "a copy does not add")));
                ++caught;
            }
        }
    }
    CHECK(caught > 500);
    MESSAGE(caught << " wrong copies caught");
}

TEST_CASE("tiles in the wrong place are refused") {
    random_numbers pick{9};
    int overlaps = 0;
    for (const subject& s : subjects(2)) {
        const std::vector<touch> all = touches(s.p);
        for (int k = 0; k < 40; ++k) {
            ts::plan p = s.p;
            const int a = pick(static_cast<int>(p.tiles.size()));
            const int b = pick(static_cast<int>(p.tiles.size()));
            ts::tile& x = p.tiles[ts::to_size(a)];
            const ts::tile& y = p.tiles[ts::to_size(b)];
            if (a == b || x.alias >= 0 || y.alias >= 0 || x.device != y.device || x.device < 0 || x.keep || y.keep ||
                x.offset < 0 || y.offset < 0 || ts::is_persistent(x.kind) || ts::is_persistent(y.kind)) {
                continue;
            }
            for (std::size_t i = 0; i < p.tiles.size(); ++i) { // with its other names
                p.tiles[i].offset = p.root(static_cast<int>(i)) == a ? y.offset : p.tiles[i].offset;
            }
            const bool good = keeps_order(p, all);
            const bool inside = x.offset + x.bytes <= p.arena_bytes[ts::to_size(x.device)] || touches_nothing(all, a);
            const std::string text = verdict_of(s, p);
            CAPTURE(text);
            CAPTURE(good);
            CAPTURE(inside);
            CHECK((!good    ? says(text, "two tiles that share memory are alive together")
                   : inside ? text.empty()
                            : says(text, "outside its device's memory")));
            overlaps += good ? 0 : 1;
        }
        for (int i = 0; i < static_cast<int>(s.p.tasks.size()); i += 5) {
            ts::plan p = s.p;
            const int w = p.tasks[ts::to_size(i)].writes[0];
            p.tiles[ts::to_size(w)].device = (p.tiles[ts::to_size(w)].device + 1) % s.devices;
            const std::string text = verdict_of(s, p);
            CAPTURE(text);
            CHECK((says(text, "another device's memory") || says(text, "a copy is missing") ||
                   says(text, "alive together")));
        }
    }
    CHECK(overlaps > 30);
}

TEST_CASE("collectives in different orders, wrong slices, a cycle of waits, too little memory") {
    int reordered = 0;
    int sliced = 0;
    for (const subject& s : subjects(3)) {
        for (const std::vector<int>& list : s.p.order) {
            int last = -1;
            for (int i = 0; i < static_cast<int>(list.size()); ++i) {
                const ts::task& t = s.p.tasks[ts::to_size(list[ts::to_size(i)])];
                if (t.kind() != ts::task_kind::update || t.params().slices == 1) {
                    continue;
                }
                ts::plan wrong = s.p;
                wrong.tasks[ts::to_size(list[ts::to_size(i)])].mutable_params().slice =
                    (t.params().slice + 1) % t.params().slices;
                if (s.p.tiles[ts::to_size(t.writes[0])].elements >= t.params().slices) {
                    CHECK(verdict_of(s, wrong) != "");
                    ++sliced;
                }
                if (last >= 0 && s.p.tasks[ts::to_size(list[ts::to_size(last)])].writes != t.writes) {
                    ts::plan p = s.p;
                    std::vector<int>& own = p.order[ts::to_size(p.list_of(t))];
                    std::swap(own[ts::to_size(i)], own[ts::to_size(last)]);
                    renumber(p);
                    CHECK(verdict_of(s, p) != "");
                    ++reordered;
                }
                last = i;
            }
        }
        for (int i = 0; i < static_cast<int>(s.p.tasks.size()); ++i) {
            const ts::task& t = s.p.tasks[ts::to_size(i)];
            for (const ts::wait_for& w : t.waits) {
                ts::plan p = s.p;
                p.tasks[ts::to_size(p.order[ts::to_size(w.list)][0])].waits.push_back({p.list_of(t), t.position + 1});
                CHECK(says(verdict_of(s, p), "a deadlock"));
            }
        }
        for (int d = 0; d < s.devices; ++d) {
            const ts::index_t need = s.p.arena_bytes[ts::to_size(d)] + s.p.persistent_bytes[ts::to_size(d)];
            const std::string text = ts::verify(s.network.view(), s.p, need - 1).text;
            CHECK((need == 0 || says(text, "bytes (")));
        }
        ts::index_t most = 0;
        for (int d = 0; d < s.devices; ++d) {
            most = std::max(most, s.p.arena_bytes[ts::to_size(d)] + s.p.persistent_bytes[ts::to_size(d)]);
        }
        CHECK(ts::verify(s.network.view(), s.p, most).text == "");
    }
    CHECK(reordered > 10);
    CHECK(sliced > 10);
}

TEST_CASE("more transfers than a word has bits: P3's order is known to the last, and one wait less is refused") {
    const ts::graph g = ts::describe<test_networks::mlp::network>(6);
    ts::strategy s = test_support::data_parallel(g.view(), 2, {});
    s.sync = ts::schedule::p3(ts::schedule::gradients_of(g.view()), {2, 10});
    s.steps_per_plan = 2;
    ts::plan p = ts::lower(g.view(), s.view(), 2, {});
    ts::finish(g.view(), p); // verifies
    const auto queued =
        std::count_if(p.tasks.begin(), p.tasks.end(), [](const ts::task& t) { return t.priority >= 0; });
    CHECK(queued > 200);
    int harmful = 0;
    int tried = 0;
    for (std::size_t i = 0; i < p.tasks.size() && tried < 40; ++i) {
        if (!p.tasks[i].after.empty()) {
            ts::plan less = p;
            less.tasks[i].after.clear();
            harmful += ts::verify(g.view(), less) ? 1 : 0;
            ++tried;
        }
    }
    CHECK(tried == 40);
    CHECK(harmful > 3);
}

namespace {

struct first_layer : ts::linear<5> {};
struct second_layer : ts::linear<3> {};
struct activated : ts::sequential<ts::features<4>, first_layer, ts::relu, second_layer, ts::cross_entropy> {};

} // namespace

TEST_CASE("work that one task leaves to another is done by that one, once") {
    const ts::graph g = ts::describe<activated>(4);
    ts::lower_options o;
    o.kind = ts::run_kind::evaluation;
    ts::plan p = ts::lower(g.view(), ts::strategy(g.view()).view(), 1, o);
    std::size_t relu = 0;
    while (g.ops[ts::to_size(p.tasks[relu].op)].attributes.kind != ts::op_kind::relu) {
        ++relu;
    }
    ts::task& own = p.tasks[relu];
    const int in = own.reads[0];
    own.mutable_compute().fused = true;
    p.tiles[ts::to_size(own.writes[0])].alias = in;
    std::size_t before = 0;
    while (p.tasks[before].writes != std::vector<int>{in}) {
        ++before;
    }
    p.tasks[before].mutable_compute().activates = true;
    CHECK_NOTHROW(ts::finish(g.view(), p));
    ts::plan wrong = p;
    wrong.tasks[before].mutable_compute().activates = false;
    CHECK(ts::verify(g.view(), wrong).text.find("a task leaves its work to one that does not do it") !=
          std::string::npos);
    wrong = p;
    wrong.tasks[relu].mutable_compute().fused = false;
    CHECK(ts::verify(g.view(), wrong));
    wrong = p;
    wrong.tasks.back().mutable_compute().activates = true; // nobody has left it anything
    CHECK(ts::verify(g.view(), wrong));
}

TEST_CASE(
    "the output of an operator whose gradient is handed in is listed whole, and so are the gradients of its inputs") {
    struct layer : ts::linear<4> {};
    ts::graph_builder b;
    const int x = b.add_input(ts::make_shape(6, 3), ts::element::f32, "x");
    const int y = b.add_op(layer::attributes, "layer", 1, false, &x, 1);
    const int dy = b.add_input(b.tensors[y].extents, ts::element::f32, "dy");
    const ts::graph g = b.built();
    ts::strategy s(g.view());
    s.ops[0].degree[0] = 2;
    ts::lower_options o;
    o.output_gradient = dy;
    o.keep_gradients = true;
    ts::plan p = ts::lower(g.view(), s.view(), 2, o);
    ts::finish(g.view(), p);
    CHECK(p.results.size() == 4); // both shards' outputs, and gradients of the input
    for (std::size_t i = 0; i < p.results.size(); ++i) {
        ts::plan less = p;
        less.results.erase(less.results.begin() + static_cast<std::ptrdiff_t>(i));
        const std::string said = ts::verify(g.view(), less).text;
        CHECK(said.find(p.results[i].tensor == x
                            ? "a gradient of an input of operator layer is not listed"
                            : "a result of operator layer is not listed whole") != std::string::npos);
    }
}
