// SPDX-License-Identifier: Apache-2.0
// The last product and its cross-entropy in one: the numbers of the two apart, in plans that hold no logits, in which
// one task makes both gradients.
#include "tessera/op/vocabulary_loss.hpp"
#include "tessera/backend/reference/network.hpp"
#include "tessera/net/dag.hpp"
#include "tessera/net/describe.hpp"
#include "tessera/op/embedding.hpp"
#include "tessera/op/gelu.hpp"
#include "tessera/op/linear.hpp"
#include "tessera/plan/finish.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/search/by_hand/baselines.hpp"
#include "tessera/strategy/typed_strategy.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <random>
#include <vector>

namespace {

namespace ts = tessera;
using ts::index_t;

constexpr index_t vocabulary = 19;
struct words : ts::embedding<vocabulary, 6> {};
struct middle : ts::linear<6> {};
struct logits : ts::linear<vocabulary, ts::no_bias> {};
template <class... End>
struct model : ts::sequential<ts::tokens<5>, words, middle, ts::gelu, End...> {};

using both = ts::vocabulary_loss<vocabulary, ts::weight<1, 2>>;
using smooth = ts::vocabulary_loss<vocabulary, ts::label_smoothing<0.3>>;
using masked = ts::masked_vocabulary_loss<vocabulary, ts::ignore<4>, ts::label_smoothing<0.1>>;
using pair_of_masked = ts::masked_cross_entropy<ts::ignore<4>, ts::label_smoothing<0.1>>;
struct own : both {};

struct text;
struct truth;
struct hidden;
struct loss;
struct dag
    : ts::dag<ts::input<text, ts::tokens<5>>, ts::input<truth, ts::tokens<5>>,
              ts::chain<hidden, text, words, middle, ts::gelu>, ts::node<loss, ts::tied<both, words>, hidden, truth>> {
};

struct trained {
    std::vector<double> losses;
    std::vector<std::vector<double>> gradients, parameters;
};

trained train(const ts::graph& g, int ignored) {
    const ts::graph_view view = g.view();
    ts::reference::network n(view);
    n.initialize(3);
    std::mt19937 draw(11);
    std::normal_distribution<double> normal;
    for (std::vector<double>& p : n.parameters) {
        for (double& x : p) {
            x = normal(draw);
        }
    }
    std::vector<std::int32_t> tokens, labels;
    for (index_t i = 0; i < g.tensors[0].extents.volume(); ++i) {
        tokens.push_back(static_cast<std::int32_t>(draw() % vocabulary));
        labels.push_back(i % 3 == 1 ? ignored : static_cast<std::int32_t>(draw() % vocabulary));
    }
    n.set(0, std::span<const std::int32_t>(tokens));
    for (int t = 1; t < g.view().tensor_count; ++t) {
        if (g.tensors[ts::to_size(t)].producer < 0) {
            n.set(t, std::span<const std::int32_t>(labels));
        }
    }
    trained r;
    ts::run_state run;
    run.learning_rate = 0.5;
    for (int step = 0; step < 3; ++step) {
        r.losses.push_back(n.train_step(run, ts::sgd{.learning_rate = 0.5F}));
    }
    r.gradients = n.gradients;
    r.parameters = n.parameters;
    return r;
}

void hold(const std::vector<double>& a, const std::vector<double>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-11).scale(1));
    }
}

template <class Pair, class Joined>
void hold_pair(int ignored = 4) {
    const ts::graph apart = ts::describe<Pair>(4);
    const ts::graph joined = ts::describe<Joined>(4);
    REQUIRE(apart.parameters.size() == joined.parameters.size());
    const trained a = train(apart, ignored);
    const trained b = train(joined, ignored);
    hold(a.losses, b.losses);
    for (std::size_t p = 0; p < a.parameters.size(); ++p) {
        hold(a.gradients[p], b.gradients[p]);
        hold(a.parameters[p], b.parameters[p]);
    }
}

/// The largest tile of a plan, in elements.
index_t largest_tile(const ts::plan& p) {
    index_t most = 0;
    for (const ts::tile& t : p.tiles) {
        most = std::max(most, t.elements);
    }
    return most;
}

} // namespace

TEST_CASE("the numbers of a product and a cross-entropy apart, in double over three steps") {
    hold_pair<model<ts::tied<logits, words>, ts::weighted_cross_entropy<ts::weight<1, 2>>>,
              model<ts::tied<both, words>>>();
    hold_pair<model<ts::tied<logits, words>, ts::weighted_cross_entropy<ts::weight<1, 2>>>, dag>();
    hold_pair<model<logits, ts::weighted_cross_entropy<ts::weight<1, 2>>>, model<own>>();
    hold_pair<model<logits, ts::smooth_cross_entropy<0.3>>, model<smooth>>();
    hold_pair<model<logits, pair_of_masked>, model<masked>>();
}

TEST_CASE("rows that do not count: their label need be no word, and none that counts gives 0") {
    using apart = model<logits, ts::masked_cross_entropy<>>;
    using joined = model<ts::masked_vocabulary_loss<vocabulary>>;
    hold_pair<apart, joined>(-100);
}

TEST_CASE("a plan holds no logits, and one task for each shard makes both gradients") {
    const index_t batch = 32; // 160 rows of 19 logits; the table has 114 numbers
    const ts::graph apart = ts::describe<model<logits, ts::cross_entropy>>(batch);
    const ts::graph joined = ts::describe<model<ts::vocabulary_loss<vocabulary>>>(batch);
    for (const int devices : {1, 2}) {
        const index_t all = batch / devices * 5 * vocabulary;
        const auto plan_of = [&](const ts::graph& g) {
            return ts::lower(g.view(), ts::search::data_parallel(g.view(), devices).view(), devices);
        };
        CHECK(largest_tile(plan_of(apart)) == all);
        const ts::plan p = plan_of(joined);
        CHECK(largest_tile(p) < all);
        const int op = joined.view().op_count - 1;
        int backward = 0;
        for (const ts::task& t : p.tasks) {
            if (t.kind() == ts::task_kind::compute && t.op == op && t.compute().emits != 0) {
                CHECK(t.what == ts::pass::backward);
                CHECK(t.writes.size() == 2);
                ++backward;
            }
        }
        CHECK(backward == devices);
    }
}

TEST_CASE("FLOPs: a product forward and three backward") {
    const ts::graph g = ts::describe<model<ts::vocabulary_loss<vocabulary>>>(4);
    const ts::description d = g.view().describe(g.view().op_count - 1);
    const index_t logits_made = index_t{4} * 5 * vocabulary;
    CHECK(ts::forward_flops(d) == logits_made * (2 * 6 + 4 + 2));
    CHECK(ts::backward_flops(d) == 3 * logits_made * 2 * 6);
}

TEST_CASE("words are split: maxima, sums and losses are reduced, a number of each for a row") {
    const ts::graph g = ts::describe<model<own>>(4);
    using by_words =
        ts::strategy_of<model<own>, 2, 4, ts::on<own, ts::split<ts::channel, 2>, ts::with_reduction, ts::uneven>>;
    ts::plan p = ts::lower(g.view(), by_words::view(), 2);
    index_t moved = 0;
    for (const ts::task& t : p.tasks) {
        if (t.kind() == ts::task_kind::copy && t.op == g.view().op_count - 1 && t.what == ts::pass::forward) {
            moved += p.tiles[ts::to_size(t.writes[0])].region.rank == 2 ? 1 : 0;
        }
    }
    CHECK(moved > 0);
    CHECK(largest_tile(p) < index_t{4} * 5 * vocabulary);
}
