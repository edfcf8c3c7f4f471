// SPDX-License-Identifier: Apache-2.0
// Plans with compressed gradients: random strategies are sound, and a plan in which a code or what is left out goes
// astray is refused.
#include "support/networks.hpp"
#include "support/planned.hpp"
#include "support/random_strategy.hpp"

#include "tessera/schedule/top_k_gradients.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

namespace ts = tessera;

const ts::graph& mlp() {
    static const ts::graph g = ts::describe<test_networks::mlp::network>(6);
    return g;
}

ts::plan planned(int steps_per_plan = 1) {
    const ts::graph_view g = mlp().view();
    ts::strategy s = test_support::data_parallel(
        g, 3, ts::schedule::eight_bit_gradients(ts::schedule::gradients_of(g), 64, {400, 100}));
    s.steps_per_plan = steps_per_plan;
    return test_support::planned(g, s, 3);
}

/// What is said of a plan that has been changed: what has to stand again is set again.
template <class Change>
std::string verdict(ts::plan p, Change&& change) {
    change(p);
    ts::plan fresh = p;
    for (ts::tile& t : fresh.tiles) {
        t.offset = -1;
    }
    ts::complete(fresh);
    return ts::verify(mlp().view(), fresh).text;
}

ts::task& first(ts::plan& p, ts::task_kind kind, int skip = 0) {
    for (ts::task& t : p.tasks) {
        if (t.kind() == kind && skip-- == 0) {
            return t;
        }
    }
    throw ts::error("no such task");
}

bool says(const std::string& text, const char* words) { return text.find(words) != std::string::npos; }

} // namespace

TEST_CASE("compressed gradients: plans of random strategies are sound, and compress what copies exchange") {
    test_support::coverage seen;
    int codes = 0;
    int whole = 0; // of overlapping shards, which go as they are
    for (int i = 0; i < 40; ++i) {
        const int devices = 2 + i % 3;
        const ts::graph g = i % 2 == 0 ? ts::describe<test_networks::mlp::network>(6)
                                       : ts::describe<test_networks::transformer::network>(4);
        ts::strategy s = test_support::random_strategy(g.view(), devices, static_cast<std::uint64_t>(i), seen);
        s.parameters_on = -1;
        const auto all = ts::schedule::gradients_of(g.view());
        s.sync = i % 3 == 0   ? ts::schedule::eight_bit_gradients(all, 64, {400, 100})
                 : i % 3 == 1 ? ts::schedule::one_bit_gradients(all)
                              : ts::schedule::top_k_gradients(all, 10);
        s.sync.sum_at = i % 4 == 3 ? ts::sync_time::after_backward : ts::sync_time::ready;
        s.sync.update_at = i % 4 == 2 ? ts::sync_time::after_backward : ts::sync_time::ready;
        s.overlap = i % 5 == 1;
        s.steps_per_plan = i % 7 == 1 ? 2 : 1;
        const ts::plan p = test_support::planned(g.view(), s, devices);
        for (const ts::task& t : p.tasks) {
            codes += t.kind() == ts::task_kind::decompress ? 1 : 0;
            whole +=
                t.kind() == ts::task_kind::update && t.params().method == ts::exchange::sliced && t.params().slices > 1
                    ? 1
                    : 0;
        }
    }
    CHECK(codes > 100);
    MESSAGE(codes << " sums of codes; " << whole << " updates of slices");
}

TEST_CASE("compressed gradients: a code that is not read, read twice, of another gradient or of none is refused") {
    CHECK(verdict(planned(), [](ts::plan&) {}).empty());
    CHECK(verdict(planned(2), [](ts::plan&) {}).empty());
    const auto of = [](auto&& change) { return verdict(planned(), change); };
    const char* const once = "a parameter's gradient is not the sum of every contribution exactly once";
    const auto alone = [](ts::plan& p) -> ts::task& { // of one parameter
        for (int skip = 0;; ++skip) {
            ts::task& t = first(p, ts::task_kind::decompress, skip);
            if (t.params().parts.empty()) {
                return t;
            }
        }
    };
    CHECK(says(of([&](ts::plan& p) { alone(p).reads.pop_back(); }), once));
    CHECK(says(of([&](ts::plan& p) { alone(p).reads[1] = alone(p).reads[0]; }), once));
    const char* const others = "a task adds up other codes than those of its parameter's gradient";
    CHECK(says(of([&](ts::plan& p) {
                   for (const ts::tile& x : p.tiles) {
                       if (x.kind == ts::tile_kind::code && x.tensor != alone(p).params().parameter) {
                           alone(p).reads[0] = static_cast<int>(&x - p.tiles.data());
                           break;
                       }
                   }
               }),
               others));
    CHECK(says(of([&](ts::plan& p) { // a gradient as it is
                   alone(p).reads[0] = first(p, ts::task_kind::compress).reads[0];
               }),
               others));
    CHECK(says(of([&](ts::plan& p) {
                   p.tasks.erase(p.tasks.begin() + (&first(p, ts::task_kind::compress) - p.tasks.data()));
               }),
               "a task reads a compressed gradient that nothing has written yet"));
}

TEST_CASE("compressed gradients: what a device leaves out is its own, and of one gradient") {
    const auto of = [](auto&& change) { return verdict(planned(), change); };
    const char* const left = "a compression leaves out of a gradient what another one is to send later";
    const auto residual = [](const ts::plan& p, bool mine_device, bool mine_parameter) {
        const ts::task& t = *std::find_if(p.tasks.begin(), p.tasks.end(),
                                          [](const ts::task& x) { return x.kind() == ts::task_kind::compress; });
        for (std::size_t i = 0; i < p.tiles.size(); ++i) {
            const ts::tile& x = p.tiles[i];
            if (x.kind == ts::tile_kind::residual && (x.device == t.device) == mine_device &&
                (x.tensor == t.params().parameter) == mine_parameter) {
                return static_cast<int>(i);
            }
        }
        return -1;
    };
    CHECK(says(
        of([&](ts::plan& p) { first(p, ts::task_kind::compress).mutable_params().state = residual(p, false, true); }),
        left));
    CHECK(says(
        of([&](ts::plan& p) { first(p, ts::task_kind::compress).mutable_params().state = residual(p, true, false); }),
        left));
    CHECK(says(of([&](ts::plan& p) { first(p, ts::task_kind::compress).mutable_params().state = -1; }),
               "a task compresses no gradient, several, or a slice of one"));
    const char* const another = "a task compresses another gradient than its device's of its parameter, or into "
                                "another's code";
    CHECK(says(
        of([&](ts::plan& p) { first(p, ts::task_kind::compress).reads = first(p, ts::task_kind::compress, 1).reads; }),
        another));
    CHECK(says(of([&](ts::plan& p) {
                   first(p, ts::task_kind::compress).writes = first(p, ts::task_kind::compress, 3).writes;
               }),
               another));
    // Twice in a step, or from step to step with two.
    CHECK(says(of([&](ts::plan& p) {
                   ts::task again = first(p, ts::task_kind::compress);
                   again.writes[0] = static_cast<int>(p.tiles.size());
                   p.tiles.push_back(p.tiles[ts::to_size(first(p, ts::task_kind::compress).writes[0])]);
                   p.tasks.insert(p.tasks.begin() + (&first(p, ts::task_kind::compress) - p.tasks.data()) + 1, again);
               }),
               "a device compresses one gradient twice in a step, or keeps two residuals of it"));
    CHECK(says(verdict(planned(2),
                       [&](ts::plan& p) {
                           for (ts::task& t : p.tasks) {
                               if (t.kind() == ts::task_kind::compress && t.step == 1) {
                                   p.tiles.push_back(p.tiles[ts::to_size(t.params().state)]);
                                   t.mutable_params().state = static_cast<int>(p.tiles.size()) - 1;
                                   return;
                               }
                           }
                       }),
               "a device compresses one gradient twice in a step, or keeps two residuals of it"));
}

TEST_CASE("compressed gradients: words are as many as the compression says") {
    const auto of = [](auto&& change) { return verdict(planned(), change); };
    const char* const words = "has another number of words than a compressed gradient of its region";
    CHECK(says(of([](ts::plan& p) { p.tiles[ts::to_size(first(p, ts::task_kind::compress).writes[0])].elements -= 1; }),
               words));
    CHECK(says(of([](ts::plan& p) { p.compress.block *= 2; }), words));
    CHECK(says(of([](ts::plan& p) { p.compress = {}; }), words));
    CHECK(says(of([](ts::plan& p) { p.compress.block = 0; }), "cannot be"));
    CHECK(says(of([](ts::plan& p) { p.compress.keep_one_in = 0; }), "cannot be"));
    CHECK(says(of([](ts::plan& p) { p.compress.how = static_cast<ts::compression>(9); }), "cannot be"));
    const ts::graph_view g = mlp().view();
    const ts::plan largest = test_support::planned(
        g, test_support::data_parallel(g, 3, ts::schedule::top_k_gradients(ts::schedule::gradients_of(g))), 3);
    const char* const room = "a compression has no working memory, or too little";
    CHECK(verdict(largest, [](ts::plan&) {}).empty());
    CHECK(says(verdict(largest, [](ts::plan& p) { first(p, ts::task_kind::compress).scratch = -1; }), room));
    // The hash says how gradients are compressed.
    ts::plan a = planned();
    const std::uint64_t before = ts::hash_of(a);
    a.compress.keep_one_in = 7;
    CHECK(ts::hash_of(a) != before);
}
