// SPDX-License-Identifier: Apache-2.0
// Plans of keys and values that go round a ring: what each device sends, that none ever holds all keys, whom a causal
// mask spares, how zigzag pieces balance, and which broken rings are refused.
#include "tessera/plan/lower/ring.hpp"
#include "support/refusal.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/op/embedding.hpp"
#include "tessera/part/attention.hpp"
#include "tessera/part/residual.hpp"
#include "tessera/plan/finish.hpp"
#include "tessera/search/by_hand/sequence_parallel.hpp"
#include "tessera/search/finished_step.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

namespace {

namespace ts = tessera;
namespace search = tessera::search;
using test_support::message_of;
using ts::index_t;

constexpr index_t samples = 3;
constexpr index_t positions = 48;
constexpr index_t key_width = 8; ///< of 2 heads of keys for 4 of queries
struct words : ts::embedding<23, 16> {};
struct query : ts::linear<16> {};
struct key : ts::linear<key_width> {};
struct value : ts::linear<key_width> {};
struct merge : ts::linear<16> {};
struct logits : ts::linear<5> {};
template <class... Options>
struct core : ts::attention<ts::heads<4>, ts::key_heads<2>, Options...> {};
template <class... Options>
struct net : ts::sequential<ts::tokens<positions>, words,
                            ts::residual<ts::self_attention<4, query, key, value, merge, core<Options...>>>, logits,
                            ts::cross_entropy> {};

/// The attention of a network, and its keys and values.
struct found_attention {
    int op = 0;
    int tensors[2]{};

    explicit found_attention(const ts::graph_view& g) {
        while (!g.facts(op).merges) {
            ++op;
        }
        tensors[0] = g.ops[op].inputs[1];
        tensors[1] = g.ops[op].inputs[2];
    }
    bool is_key(const ts::tile& x) const { return x.tensor == tensors[0] || x.tensor == tensors[1]; }
};

/// Numbers of keys and values, or of their gradients, that each device sends in a pass.
std::vector<index_t> sent(const ts::graph_view& g, const ts::plan& p, ts::tile_kind of, bool backward) {
    const found_attention a(g);
    std::vector<index_t> numbers(ts::to_size(p.devices), 0);
    for (const ts::task& t : p.tasks) {
        if (t.kind() != ts::task_kind::copy || (t.what != ts::pass::forward) != backward) {
            continue;
        }
        const ts::tile& to = p.tiles[ts::to_size(t.writes[0])];
        for (const ts::copy_segment& s : t.copy().segments) {
            const ts::tile& from = p.tiles[ts::to_size(s.source)];
            if (to.kind == of && a.is_key(to) && from.device != to.device) {
                numbers[ts::to_size(from.device)] += s.region.volume();
            }
        }
    }
    return numbers;
}

index_t total(const std::vector<index_t>& all) {
    index_t sum = 0;
    for (const index_t x : all) {
        sum += x;
    }
    return sum;
}

/// The most numbers of keys that a device holds at a time, or of their gradients.
index_t most_held(const ts::graph_view& g, const ts::plan& p, ts::tile_kind of) {
    const found_attention a(g);
    std::vector<std::pair<int, int>> lives(p.tiles.size(), {-1, -1});
    for (int i = 0; i < static_cast<int>(p.tasks.size()); ++i) {
        for (const std::vector<int>* list : {&p.tasks[ts::to_size(i)].reads, &p.tasks[ts::to_size(i)].writes}) {
            for (const int t : *list) {
                auto& [first, last] = lives[ts::to_size(p.root(t))];
                first = first < 0 ? i : first;
                last = i;
            }
        }
    }
    std::vector<std::vector<index_t>> held(ts::to_size(p.devices), std::vector<index_t>(p.tasks.size() + 1, 0));
    for (std::size_t t = 0; t < p.tiles.size(); ++t) {
        const ts::tile& x = p.tiles[t];
        if (x.kind == of && x.tensor == a.tensors[0] && lives[t].first >= 0) {
            for (int i = lives[t].first; i <= lives[t].second; ++i) {
                held[ts::to_size(x.device)][ts::to_size(i)] += x.elements;
            }
        }
    }
    index_t most = 0;
    for (const auto& of_device : held) {
        most = std::max(most, *std::max_element(of_device.begin(), of_device.end()));
    }
    return most;
}

/// FLOPs of attention's turns forward, by device.
std::vector<index_t> work(const ts::graph_view& g, const ts::plan& p) {
    std::vector<index_t> flops(ts::to_size(p.devices), 0);
    for (const ts::task& t : p.tasks) {
        if (t.compute().turn >= 0) {
            flops[ts::to_size(t.device)] += ts::forward_flops(g.describe(t.op), t.compute().ranges);
        }
    }
    return flops;
}

} // namespace

TEST_CASE("a ring without a mask: each device sends every piece but one, forward and backward, and their gradients") {
    const ts::graph network = ts::describe<net<>>(samples);
    const ts::graph_view g = network.view();
    for (const int n : {2, 3, 4, 6}) {
        CAPTURE(n);
        ts::plan p = ts::lower(g, search::ring_attention(g, 1, n).view(), n);
        // 2 (n - 1) / n N T G W numbers of 4 bytes
        const index_t each = 2 * (n - 1) * samples * positions * key_width / n;
        const std::vector<index_t> alike(ts::to_size(n), each);
        CHECK(sent(g, p, ts::tile_kind::activation, false) == alike);
        CHECK(sent(g, p, ts::tile_kind::activation, true) == alike);
        CHECK(sent(g, p, ts::tile_kind::gradient, true) == alike);
        CHECK_NOTHROW(ts::finish(g, p));
        for (const ts::task& t : p.tasks) { // to the next device, or a gradient home
            if (t.kind() == ts::task_kind::copy && found_attention(g).is_key(p.tiles[ts::to_size(t.writes[0])])) {
                for (const int from : t.reads) {
                    const int apart = (t.device - p.tiles[ts::to_size(from)].device + n) % n;
                    CHECK(apart <= 1);
                }
            }
        }
    }
}

TEST_CASE("a causal ring: nobody gets or computes what it does not see") {
    const ts::graph network = ts::describe<net<ts::causal>>(samples);
    const ts::graph_view g = network.view();
    const index_t numbers = samples * positions * key_width;
    for (const int n : {2, 3, 4, 6}) {
        CAPTURE(n);
        ts::plan p = ts::lower(g, search::ring_attention(g, 1, n).view(), n);
        ts::plan z = ts::lower(g, search::zigzag_attention(g, 1, n).view(), n);
        for (const bool backward : {false, true}) { // piece i has n - 1 - i devices behind it
            CHECK(total(sent(g, p, ts::tile_kind::activation, backward)) == numbers * (n - 1));
            // halves of pieces: the first n go everywhere, of the others i to i devices
            CHECK(2 * total(sent(g, z, ts::tile_kind::activation, backward)) == 3 * numbers * (n - 1));
        }
        CHECK(total(sent(g, p, ts::tile_kind::gradient, true)) == numbers * (n - 1));
        CHECK(2 * total(sent(g, z, ts::tile_kind::gradient, true)) == 3 * numbers * (n - 1));
        int turns = 0;
        for (const ts::task& t : p.tasks) {
            turns += t.compute().turn >= 0 ? 1 : 0;
        }
        CHECK(turns == n * (n + 1) / 2);
        const std::vector<index_t> plain = work(g, p);
        const std::vector<index_t> even = work(g, z);
        CHECK(total(plain) == total(even));
        CHECK(*std::max_element(even.begin(), even.end()) == *std::min_element(even.begin(), even.end()));
        CHECK(plain.back() > 2 * plain.front());
        CHECK_NOTHROW(ts::finish(g, p));
        CHECK_NOTHROW(ts::finish(g, z));
    }
    // A window ends a piece's way.
    const ts::graph near = ts::describe<net<ts::causal, ts::sliding_window<12>>>(samples);
    const ts::plan p = ts::lower(near.view(), search::ring_attention(near.view(), 1, 4).view(), 4);
    CHECK(total(sent(near.view(), p, ts::tile_kind::activation, false)) == 2 * 3 * numbers / 4);
}

TEST_CASE("no device of a ring ever holds all keys, or the gradients of all") {
    const auto hold = [](const ts::graph_view& g) {
        const index_t keys = samples * positions * key_width;
        for (const int n : {4, 6, 8}) {
            CAPTURE(n);
            for (const auto how : {search::sequence_sharing::ring, search::sequence_sharing::zigzag}) {
                ts::strategy s = search::share_sequences(g, how, 1, n);
                ts::plan p = ts::lower(g, s.view(), n);
                // its own, the one that it computes with, and the next or the one before
                CHECK(most_held(g, p, ts::tile_kind::activation) * n <= 3 * keys);
                CHECK(most_held(g, p, ts::tile_kind::gradient) * n <= 4 * keys);
                for (ts::configuration& c : s.ops) {
                    c.ring = false;
                }
                p = ts::lower(g, s.view(), n);
                CHECK(most_held(g, p, ts::tile_kind::activation) >= keys);
            }
        }
    };
    hold(ts::describe<net<>>(samples).view());
    hold(ts::describe<net<ts::causal>>(samples).view());
}

TEST_CASE("a causal step of zigzag pieces is shorter than that of a ring in order") {
    struct long_words : ts::embedding<23, 512> {};
    struct wide : ts::linear<512> {};
    struct keys : ts::linear<512> {};
    struct values : ts::linear<512> {};
    struct out : ts::linear<512> {};
    struct seen : ts::attention<ts::heads<8>, ts::causal> {};
    using model =
        ts::sequential<ts::tokens<8192>, long_words, ts::residual<ts::self_attention<8, wide, keys, values, out, seen>>,
                       logits, ts::cross_entropy>;
    const ts::graph network = ts::describe<model>(1);
    const ts::graph_view g = network.view();
    const ts::cluster on(ts::machines::p100_nodes(1, 4));
    const auto step = [&](const ts::strategy& s) { return search::simulate_finished(g, on, s).makespan; };
    const index_t ring = step(search::ring_attention(g, 1, 4));
    const index_t zigzag = step(search::zigzag_attention(g, 1, 4));
    MESSAGE("ring " << ring << " ns, zigzag " << zigzag << " ns");
    CHECK(10 * zigzag < 9 * ring);
}

TEST_CASE("an attention with a table of buckets goes round no ring") {
    const ts::graph network = ts::describe<net<ts::causal, ts::position_buckets<8, 16>>>(samples);
    const ts::graph_view g = network.view();
    ts::strategy s(g);
    const int op = found_attention(g).op;
    s.ops[ts::to_size(op)].degree[g.describe(op).find_loop(ts::loop_name::position)] = 2;
    CHECK(!ts::check_strategy(g, s.view(), 2));
    s.ops[ts::to_size(op)].ring = true;
    CHECK(ts::check_strategy(g, s.view(), 2).broken == ts::rule::ring_without_keys);
}

TEST_CASE("a ring that drops a turn, repeats one, swaps two or adds to another's results is refused") {
    const ts::graph network = ts::describe<net<ts::causal>>(samples);
    const ts::graph_view g = network.view();
    const ts::plan sound = ts::lower(g, search::zigzag_attention(g, 1, 3).view(), 3);
    const auto turn_of = [](ts::plan& p, int shard, int turn) -> ts::task& {
        return *std::find_if(p.tasks.begin(), p.tasks.end(),
                             [&](const ts::task& t) { return t.compute().turn == turn && t.shard_number == shard; });
    };
    const auto refused = [&](const auto& change) {
        ts::plan p = sound;
        change(p);
        ts::number_tasks(p);
        return message_of([&] { ts::finish(g, p); });
    };
    const auto says = [](const std::string& text, const char* what) { return text.find(what) != std::string::npos; };
    const int last = 5; // the shard of the last piece, which has six turns
    CHECK(refused([](ts::plan&) {}) == "accepted");
    CHECK(says(refused([&](ts::plan& p) { p.tasks.erase(p.tasks.begin() + (&turn_of(p, last, 5) - p.tasks.data())); }),
               "leave out keys that it sees"));
    for (int turn = 0; turn < 5; ++turn) {
        CHECK(says(
            refused([&](ts::plan& p) { p.tasks.erase(p.tasks.begin() + (&turn_of(p, last, turn) - p.tasks.data())); }),
            "out of order"));
    }
    CHECK(says(refused([&](ts::plan& p) { std::swap(turn_of(p, last, 2), turn_of(p, last, 3)); }), "out of order"));
    CHECK(says(refused([&](ts::plan& p) { // with the piece of before
                   ts::task& t = turn_of(p, last, 3);
                   const ts::task& before = turn_of(p, last, 2);
                   const int at = t.compute().turn;
                   t = before;
                   t.mutable_compute().turn = at;
               }),
               "repeats keys"));
    CHECK(refused([&](ts::plan& p) { // and says that it was its own
              ts::task& t = turn_of(p, last, 3);
              t.mutable_compute().value[1] = turn_of(p, last, 2).compute().value[1];
              t.reads = turn_of(p, last, 2).reads;
          }) != "accepted");
    CHECK(refused([&](ts::plan& p) { // forgets what was there
              ts::task& t = turn_of(p, last, 3);
              t.mutable_compute().turn = 0;
          }) != "accepted");
    CHECK(refused([&](ts::plan& p) { // as if it were all of it
              turn_of(p, 0, 0).mutable_compute().turn = -1;
          }) != "accepted");
    // Its two shards lie on one device, and their results have one shape.
    CHECK(refused([&](ts::plan& p) {
              ts::task& t = turn_of(p, last, 3);
              const ts::task& other = turn_of(p, 0, 0);
              for (const int o : {g.describe(t.op).output()}) {
                  std::replace(t.reads.begin(), t.reads.end(), t.compute().value[o], other.compute().value[o]);
                  std::replace(t.writes.begin(), t.writes.end(), t.compute().value[o], other.compute().value[o]);
                  t.mutable_compute().value[o] = other.compute().value[o];
              }
          }) != "accepted");
    // A gradient that has gone round lacks the part of a device.
    const auto sum_of_three = [&](ts::plan& p) -> ts::task& {
        return *std::find_if(p.tasks.begin(), p.tasks.end(), [&](const ts::task& t) {
            return t.kind() == ts::task_kind::copy && t.copy().segments.size() > 2 &&
                   found_attention(g).is_key(p.tiles[ts::to_size(t.writes[0])]);
        });
    };
    CHECK(says(refused([&](ts::plan& p) {
                   ts::task& t = sum_of_three(p);
                   t.mutable_copy().segments.pop_back();
                   t.reads.pop_back();
               }),
               "does not add every part"));
    CHECK(refused([&](ts::plan& p) {
              ts::task& t = sum_of_three(p);
              t.mutable_copy().segments[2].source = t.copy().segments[1].source;
              t.reads[2] = t.reads[1];
          }) != "accepted");
}
