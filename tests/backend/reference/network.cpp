// SPDX-License-Identifier: Apache-2.0
// The oracle: its gradients against differences of its loss, its steps against the definitions.
#include "tessera/backend/reference/network.hpp"
#include "op/table.hpp"
#include "tessera/net/dag.hpp"
#include "tessera/net/describe.hpp"
#include "tessera/part/residual.hpp"
#include "tessera/plan/lower/lower.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace {

namespace ts = tessera;

struct stem : ts::conv2d<4, ts::window<3>, ts::padding<1>> {};
struct norm : ts::batch_norm<> {};
struct inner : ts::conv2d<4, ts::window<3>, ts::padding<1>, ts::no_bias> {};
struct inner_norm : ts::batch_norm<> {};
struct narrow : ts::conv2d<3, ts::window<1>, ts::frozen> {};
struct head : ts::linear<3> {};
struct skip;

/// Residual, batch norm, a long skip, dropout, pooling and a frozen layer.
struct small : ts::sequential<ts::image<2, 4, 4>, stem, norm, ts::save<skip>, ts::residual<ts::gelu, inner, inner_norm>,
                              ts::channel_dropout<25>, narrow, ts::tap<ts::concat, skip>, ts::max_pool<2>, ts::flatten,
                              ts::dropout<10>, head, ts::cross_entropy> {};

struct x;
struct first_labels;
struct second_labels;
struct hidden;
struct again;
struct wide;
struct first_loss;
struct second_loss;
struct tied : ts::linear<5> {};

/// One parameter used twice in a row, and two losses of different weights.
struct two_losses : ts::dag<ts::input<x, ts::features<5>>, ts::input<first_labels, ts::labels>,
                            ts::input<second_labels, ts::labels>, ts::node<hidden, ts::shared<tied>, x>,
                            ts::node<wide, ts::tanh, hidden>, ts::node<again, ts::shared<tied>, wide>,
                            ts::node<first_loss, ts::weighted_cross_entropy<ts::weight<3, 2>>, wide, first_labels>,
                            ts::node<second_loss, ts::weighted_cross_entropy<ts::weight<1, 4>>, again, second_labels>> {
};

/// A branch that ends in no loss.
struct unread : ts::linear<4> {};
struct dead_end
    : ts::dag<ts::input<x, ts::features<5>>, ts::input<first_labels, ts::labels>, ts::node<hidden, ts::linear<5>, x>,
              ts::node<again, unread, hidden>, ts::node<wide, ts::tanh, hidden>,
              ts::node<first_loss, ts::cross_entropy, wide, first_labels>> {};

ts::reference::network make(const ts::graph_view& g) {
    ts::reference::network n(g);
    n.initialize(3);
    tests::random_numbers random{9};
    for (int t = 0; t < g.tensor_count; ++t) {
        if (g.tensors[t].producer >= 0) {
            continue;
        }
        const auto count = ts::to_size(g.tensors[t].extents.volume());
        if (g.tensors[t].type == ts::element::i32) {
            std::vector<std::int32_t> labels(count);
            for (std::int32_t& l : labels) {
                l = static_cast<std::int32_t>(random.below(3));
            }
            n.set(t, labels);
        } else {
            std::vector<double> values(count);
            for (double& v : values) {
                v = static_cast<double>(random.below(20001)) / 10000 - 1;
            }
            n.set(t, std::span<const double>(values));
        }
    }
    return n;
}

void check_gradients(const ts::graph_view& g) {
    ts::reference::network n = make(g);
    const ts::run_state run{.seed = 4, .step = 7};
    n.differentiate(run);
    const std::vector<std::vector<double>> gradients = n.gradients;
    for (std::size_t p = 0; p < gradients.size(); ++p) {
        double error = 0;
        double norm = 0;
        for (std::size_t i = 0; i < gradients[p].size(); ++i) {
            const double step = 1e-5;
            double& w = n.parameters[p][i];
            const double before = w;
            w = before + step;
            const double above = n.differentiate(run);
            w = before - step;
            const double below = n.differentiate(run);
            w = before;
            const double numeric = (above - below) / (2 * step);
            error += (numeric - gradients[p][i]) * (numeric - gradients[p][i]);
            norm += numeric * numeric;
        }
        CAPTURE(p);
        if (!gradients[p].empty() && std::string(g.parameters[p].layer) != "stem") {
            CHECK(norm > 1e-12);
        }
        CHECK(std::sqrt(error) <= 1e-6 * std::sqrt(norm) + 1e-9); // a bias before batch norm has the gradient 0
    }
}

} // namespace

TEST_CASE("gradients of a whole network are the derivatives of its loss") {
    check_gradients(ts::describe<small>(3).view());
}

TEST_CASE("a shared parameter's gradient sums over its users, the total loss over the weighted losses") {
    const ts::graph g = ts::describe<two_losses>(4);
    check_gradients(g.view());
    ts::reference::network n = make(g.view());
    const double loss = n.differentiate({});
    const auto mean = [&](int op) {
        double sum = 0;
        for (const double row : n.values[ts::to_size(g.ops[ts::to_size(op)].output)]) {
            sum += row / 4;
        }
        return sum;
    };
    CHECK(loss == doctest::Approx(1.5 * mean(3) + 0.25 * mean(4)).epsilon(1e-12));
}

TEST_CASE("a step changes trained parameters by the optimizer's rule, frozen ones not at all") {
    const ts::graph g = ts::describe<small>(3);
    for (const double clip : {0.0, 0.25}) {
        ts::reference::network n = make(g.view());
        const std::vector<std::vector<double>> before = n.parameters;
        n.train_step({.seed = 4, .step = 0, .learning_rate = 0.5}, ts::optimizer(ts::sgd{}, static_cast<float>(clip)));
        double squares = 0;
        for (std::size_t p = 0; p < before.size(); ++p) {
            for (const double x : n.gradients[p]) {
                squares += g.parameters[p].trained ? x * x : 0;
            }
        }
        REQUIRE(squares > 0.25 * 0.25);
        const double factor = clip > 0 ? clip / std::sqrt(squares) : 1;
        for (std::size_t p = 0; p < before.size(); ++p) {
            CAPTURE(p);
            for (std::size_t i = 0; i < before[p].size(); ++i) {
                const double change = n.parameters[p][i] - before[p][i];
                if (g.parameters[p].trained) {
                    CHECK(std::abs(change + 0.5 * factor * n.gradients[p][i]) <=
                          1e-5 * std::abs(n.gradients[p][i]) + 1e-14);
                } else if (g.parameters[p].layer == "narrow") {
                    CHECK(change == 0);
                } else {
                    CHECK(change != 0); // running statistics
                }
            }
        }
    }
}

TEST_CASE(
    "a parameter on which no loss depends stays as it is, weight decay or not, as in plans, which do not update it") {
    const ts::graph g = ts::describe<dead_end>(6);
    for (const ts::optimizer& how :
         {ts::optimizer(ts::sgd{.learning_rate = 0.5F, .momentum = 0.5F, .weight_decay = 0.1F}),
          ts::optimizer(ts::adam{.weight_decay = 0.1F})}) {
        ts::reference::network n = make(g.view());
        const auto before = n.parameters;
        n.train_step({.learning_rate = 0.5F}, how);
        const ts::plan p = ts::lower(g.view(), ts::strategy(g.view()).view(), 1, {.update = how});
        int still = 0;
        for (std::size_t i = 0; i < before.size(); ++i) {
            const bool updated = std::any_of(p.tasks.begin(), p.tasks.end(), [&](const ts::task& t) {
                return t.kind() == ts::task_kind::update && t.params().parameter == static_cast<int>(i);
            });
            CHECK((n.parameters[i] != before[i]) == updated);
            still += updated ? 0 : 1;
        }
        CHECK(still == 2); // weights and bias of `unread`
    }
}

TEST_CASE("training lowers the loss, with either optimizer; evaluation repeats itself") {
    const ts::graph g = ts::describe<small>(3);
    for (const ts::optimizer& how : {ts::optimizer(ts::sgd{.momentum = 0.9F}), ts::optimizer(ts::adam{})}) {
        ts::reference::network n = make(g.view());
        const double start = n.evaluate();
        for (std::uint64_t step = 0; step < 60; ++step) {
            n.train_step({.seed = 1, .step = step, .learning_rate = 0.02}, how);
        }
        const double end = n.evaluate();
        CHECK(end < 0.5 * start);
        CHECK(n.evaluate({.seed = 77, .step = 5}) == end); // no dropout, nothing updated
    }
}

TEST_CASE("inputs are checked") {
    const ts::graph g = ts::describe<two_losses>(4);
    ts::reference::network n(g.view());
    const std::vector<float> short_input(19);
    CHECK_THROWS_WITH_AS(n.set(0, std::span<const float>(short_input)), "tessera: input x got 19 elements and needs 20",
                         ts::error);
    const std::vector<std::int32_t> wrong{0, 1, 5, 0};
    CHECK_THROWS_WITH_AS(n.set(1, wrong), "tessera: label 5 is not one of the 5 classes of first_loss", ts::error);
    CHECK_THROWS_WITH_AS(n.set(0, wrong), "tessera: tensor 0 is not an input of labels", ts::error);
}
