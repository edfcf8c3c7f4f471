// SPDX-License-Identifier: Apache-2.0
// Cross-entropies in which not every row counts the same are PyTorch's, written down here in plain loops: of rows,
// positions and pixels, under random strategies of 1 to 8 devices, in steps and in evaluations.
#include "support/random_strategy.hpp"
#include "support/refusal.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/net/dag.hpp"
#include "tessera/search/by_hand/baselines.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

namespace {

namespace ts = tessera;
using test_support::contains;
using test_support::message_of;

struct x;
struct label;
struct weight;
struct loss;
struct of_rows : ts::linear<5> {};
struct of_pixels : ts::conv2d<4, ts::window<1>> {};

/// One kind of loss in a network: what comes in, how many rows there are of a sample, and what PyTorch would be asked
/// for.
template <class Input, class Labels, class Weights, class Logits, class Loss>
struct network : ts::dag<ts::input<x, Input>, ts::input<label, Labels>, ts::input<weight, Weights>,
                         ts::node<Logits, Logits, x>, ts::node<loss, Loss, Logits, label, weight>> {};
template <class Input, class Labels, class Logits, class Loss>
struct network<Input, Labels, void, Logits, Loss>
    : ts::dag<ts::input<x, Input>, ts::input<label, Labels>, ts::node<Logits, Logits, x>,
              ts::node<loss, Loss, Logits, label>> {};

struct definition {
    int ignored = -100;
    double smoothing = 0;
    std::vector<float> classes{}; ///< a weight for each; none: 1
};

struct batch_of_rows {
    int places = 1; ///< rows of a sample
    int planes = 1; ///< as many of them have their classes apart from each other, as pixels do
    int classes = 0;
    int inputs = 0;
    std::vector<float> x;
    std::vector<std::int32_t> labels;
    std::vector<float> weights;

    std::size_t rows() const { return labels.size(); }
    /// Where the number of a row and a channel of so many is.
    std::size_t at(std::size_t row, int channel, int channels) const {
        const auto p = ts::to_size(planes);
        return (row / p * ts::to_size(channels) + ts::to_size(channel)) * p + row % p;
    }
    bool counts(std::size_t row, const definition& d) const { return labels[row] != d.ignored; }
    double weight_of(std::size_t row, int k, const definition& d) const {
        return d.classes.empty() ? static_cast<double>(weights[row]) : static_cast<double>(d.classes[ts::to_size(k)]);
    }
    /// The weights of the labels that count.
    double together(const definition& d) const {
        double sum = 0;
        for (std::size_t r = 0; r < rows(); ++r) {
            sum += counts(r, d) ? weight_of(r, labels[r], d) : 0;
        }
        return sum;
    }
    /// torch.nn.functional.cross_entropy(..., reduction="sum").
    double sum(const std::vector<double>& y, const definition& d) const {
        double nll = 0;
        double smooth = 0;
        for (std::size_t r = 0; r < rows(); ++r) {
            double exponentials = 0;
            for (int k = 0; k < classes; ++k) {
                exponentials += std::exp(y[at(r, k, classes)]);
            }
            for (int k = 0; k < classes && counts(r, d); ++k) {
                const double lost = weight_of(r, k, d) * (std::log(exponentials) - y[at(r, k, classes)]);
                nll += k == labels[r] ? lost : 0;
                smooth += lost;
            }
        }
        return (1 - d.smoothing) * nll + d.smoothing / classes * smooth;
    }
    /// reduction="mean"; 0 where nothing counts.
    double mean(const std::vector<double>& y, const definition& d) const {
        const double all = together(d);
        return all != 0 ? sum(y, d) / all : 0;
    }
    std::vector<double> slopes(std::vector<double> y, const definition& d) const {
        std::vector<double> all;
        const double step = 1e-5;
        for (double& v : y) {
            const double before = v;
            v = before + step;
            const double above = mean(y, d);
            v = before - step;
            const double below = mean(y, d);
            v = before;
            all.push_back((above - below) / (2 * step));
        }
        return all;
    }
    /// Rows that count, and those of them whose largest logit is the label's.
    std::pair<ts::index_t, ts::index_t> correct(const std::vector<double>& y, const definition& d) const {
        std::pair<ts::index_t, ts::index_t> all{0, 0};
        for (std::size_t r = 0; r < rows(); ++r) {
            bool best = counts(r, d);
            all.first += best ? 1 : 0;
            for (int k = 0; k < classes && best; ++k) {
                best = y[at(r, labels[r], classes)] >= y[at(r, k, classes)];
            }
            all.second += best ? 1 : 0;
        }
        return all;
    }
};

/// Labels among which a third is ignored, weights among which some are 0.
batch_of_rows random_batch(const batch_of_rows& like, int samples, const definition& d, bool weighs,
                           test_support::random& pick) {
    batch_of_rows b = like;
    const int rows = samples * like.places;
    for (int i = 0; i < rows * like.inputs; ++i) {
        b.x.push_back(static_cast<float>(pick(2000) - 1000) / 400);
    }
    for (int r = 0; r < rows; ++r) {
        b.labels.push_back(r == 1 || pick(3) == 0 ? d.ignored : pick(like.classes));
        b.weights.push_back(!weighs ? 1.0F : pick(6) == 0 ? 0.0F : static_cast<float>(1 + pick(1000)) / 400);
    }
    return b;
}

struct only_inputs {
    const std::vector<float>& inputs;
};

template <bool Weighs>
auto fed(const batch_of_rows& b) {
    if constexpr (Weighs) {
        return ts::named_batch(ts::feed<x>(b.x), ts::feed<label>(b.labels), ts::feed<weight>(b.weights));
    } else {
        return ts::named_batch(ts::feed<x>(b.x), ts::feed<label>(b.labels));
    }
}

template <class Logits, class Trainer>
std::vector<double> logits_of(Trainer& t, const batch_of_rows& b) {
    const auto y = t.template predict<Logits>(only_inputs{b.x}).values;
    return {y.begin(), y.end()};
}

/// A step and an evaluation of two batches under many strategies.
template <class Input, class Labels, class Weights, class Logits, class Loss, bool OfClasses>
void check(const batch_of_rows& like, definition d) {
    using net = network<Input, Labels, Weights, Logits, Loss>;
    constexpr bool weighs = !std::is_void_v<Weights>;
    constexpr int samples = 6;
    constexpr float rate = 0.5F;
    const ts::graph g = ts::describe<net>(samples);
    test_support::coverage seen;
    for (int devices = 1; devices <= 8; ++devices) {
        CAPTURE(devices);
        test_support::random pick{static_cast<std::uint64_t>(devices * 77 + like.planes)};
        ts::strategy s = devices == 2 ? ts::search::data_parallel(g.view(), 2)
                                      : test_support::random_strategy(g.view(), devices, pick.state, seen);
        s.statistics = devices % 2 == 0 ? ts::statistics_over::replica : s.statistics; // it has no say in a loss
        ts::trainer<net, ts::reference::backend> t(ts::local_devices(devices), s, samples,
                                                   ts::sgd{.learning_rate = rate});
        d.classes.clear();
        for (int k = 0; k < like.classes && OfClasses; ++k) {
            d.classes.push_back(k == 1 ? 0.0F : static_cast<float>(1 + pick(1000)) / 300);
        }
        if constexpr (OfClasses) {
            t.template set_weights<loss>(d.classes);
        }
        const batch_of_rows b = random_batch(like, samples, d, weighs, pick);
        const batch_of_rows other = random_batch(like, 3, d, weighs, pick);
        const std::vector<double> y = logits_of<Logits>(t, b);
        const std::vector<double> y2 = logits_of<Logits>(t, other);

        const ts::scores one = t.evaluate(fed<weighs>(b));
        CHECK(one.loss == doctest::Approx(b.mean(y, d)).epsilon(1e-5));
        const ts::scores both = t.evaluate(std::vector{fed<weighs>(b), fed<weighs>(other)});
        const double all = b.together(d) + other.together(d);
        CHECK(both.loss == doctest::Approx((b.sum(y, d) + other.sum(y2, d)) / all).epsilon(1e-5));
        const auto [rows, correct] = b.correct(y, d);
        const auto [rows2, correct2] = other.correct(y2, d);
        CHECK(both.rows == rows + rows2);
        CHECK(both.correct == correct + correct2);
        CHECK(both.rows < static_cast<ts::index_t>(b.rows() + other.rows()));

        const std::vector<float> w = t.template weights<Logits>();
        const std::vector<float> bias = t.template bias<Logits>();
        CHECK(static_cast<double>(t.step(fed<weighs>(b))) == doctest::Approx(b.mean(y, d)).epsilon(1e-5));
        const std::vector<float> new_w = t.template weights<Logits>();
        const std::vector<float> new_bias = t.template bias<Logits>();
        const std::vector<double> slope = b.slopes(y, d);
        for (int k = 0; k < like.classes; ++k) {
            double of_bias = 0;
            std::vector<double> of_w(ts::to_size(like.inputs));
            for (std::size_t r = 0; r < b.rows(); ++r) {
                of_bias += slope[b.at(r, k, like.classes)];
                for (int i = 0; i < like.inputs; ++i) {
                    of_w[ts::to_size(i)] +=
                        slope[b.at(r, k, like.classes)] * static_cast<double>(b.x[b.at(r, i, like.inputs)]);
                }
            }
            const auto at = ts::to_size(k);
            const auto moved = [](float before, float after) {
                return static_cast<double>(before - after) / static_cast<double>(rate);
            };
            CHECK(std::abs(moved(bias[at], new_bias[at]) - of_bias) < 2e-5);
            for (std::size_t i = 0; i < of_w.size(); ++i) {
                CHECK(std::abs(moved(w[at * of_w.size() + i], new_w[at * of_w.size() + i]) - of_w[i]) < 2e-5);
            }
        }
        if constexpr (OfClasses) {
            CHECK(t.template weights<loss>() == d.classes); // no step trains them
        }

        batch_of_rows none = b; // no row counts
        for (std::int32_t& one_label : none.labels) {
            one_label = d.ignored;
        }
        CHECK(t.step(fed<weighs>(none)) == 0.0F);
        CHECK(t.template weights<Logits>() == new_w);
        const ts::scores empty = t.evaluate(fed<weighs>(none));
        CHECK(empty.loss == 0);
        CHECK(empty.rows == 0);
        CHECK(t.evaluate(std::vector{fed<weighs>(none), fed<weighs>(b)}).loss ==
              doctest::Approx(t.evaluate(fed<weighs>(b)).loss).epsilon(1e-6));
    }
    CHECK(seen.roles[static_cast<int>(ts::loop_role::coupled)] > 0);
}

const batch_of_rows rows{.classes = 5, .inputs = 3, .x = {}, .labels = {}, .weights = {}};
const batch_of_rows positions{.places = 4, .classes = 5, .inputs = 3, .x = {}, .labels = {}, .weights = {}};
const batch_of_rows pixels{.places = 6, .planes = 6, .classes = 4, .inputs = 2, .x = {}, .labels = {}, .weights = {}};

template <class Loss, bool OfClasses = false>
void check_rows(const definition& d) {
    check<ts::features<3>, ts::labels, void, of_rows, Loss, OfClasses>(rows, d);
}
template <class Loss, bool OfClasses = false>
void check_positions(const definition& d) {
    check<ts::sequence<4, 3>, ts::tokens<4>, void, of_rows, Loss, OfClasses>(positions, d);
}
template <class Loss, bool OfClasses = false>
void check_pixels(const definition& d) {
    check<ts::image<2, 3, 2>, ts::label_map<3, 2>, void, of_pixels, Loss, OfClasses>(pixels, d);
}

} // namespace

TEST_CASE("rows of an ignored label do not count") {
    check_rows<ts::masked_cross_entropy<>>({});
    check_positions<ts::masked_cross_entropy<ts::ignore<0>>>({.ignored = 0});
    check_pixels<ts::masked_cross_entropy<ts::ignore<255>, ts::label_smoothing<0.2>>>(
        {.ignored = 255, .smoothing = 0.2});
}

TEST_CASE("classes have weights, which the mean is over") {
    check_rows<ts::class_weighted_cross_entropy<ts::label_smoothing<0.1>>, true>({.smoothing = 0.1});
    check_positions<ts::class_weighted_cross_entropy<>, true>({});
    check_pixels<ts::class_weighted_cross_entropy<ts::ignore<2>>, true>({.ignored = 2});
}

TEST_CASE("rows have weights, which the mean is over") {
    check<ts::features<3>, ts::labels, ts::scalars, of_rows, ts::row_weighted_cross_entropy<>, false>(rows, {});
    check<ts::sequence<4, 3>, ts::tokens<4>, ts::features<4>, of_rows,
          ts::row_weighted_cross_entropy<ts::ignore<-1>, ts::label_smoothing<0.3>>, false>(
        positions, {.ignored = -1, .smoothing = 0.3});
}

namespace {

template <class Loss>
struct of_features : ts::sequential<ts::features<3>, of_rows, Loss> {};

/// What a strategy that `change` has changed is told, and a batch with a label.
template <class Loss, class Change>
std::string told(const Change& change, std::int32_t number = 0) {
    using net = of_features<Loss>;
    const ts::graph g = ts::describe<net>(4);
    ts::strategy s(g.view());
    change(s);
    const std::vector<float> inputs(12, 1.0F);
    const std::vector<std::int32_t> labels{0, number, 1, 4};
    return message_of([&] {
        ts::trainer<net, ts::reference::backend> t(ts::local_devices(1), s, 4, ts::sgd{});
        t.step(ts::named_batch(ts::feed<ts::features<3>>(inputs), ts::feed<ts::labels>(labels)));
    });
}

} // namespace

TEST_CASE("a loss of the whole batch takes no micro-batches, and says so") {
    const auto cut = [](ts::strategy& s) { s.micro_batches = 2; };
    CHECK(contains(told<ts::masked_cross_entropy<>>(cut), ts::to_text(ts::rule::loss_joins_micro_batches)));
    CHECK(contains(told<ts::class_weighted_cross_entropy<>>(cut), "layer class_weighted_cross_entropy"));
    CHECK(told<ts::smooth_cross_entropy<0.1>>(cut) == "accepted");
    CHECK(told<ts::masked_cross_entropy<>>([](ts::strategy&) {}) == "accepted");
}

TEST_CASE("an ignored label passes where it is ignored, and nowhere else") {
    const auto none = [](ts::strategy&) {};
    CHECK(told<ts::masked_cross_entropy<>>(none, -100) == "accepted");
    CHECK(told<ts::masked_cross_entropy<ts::ignore<255>>>(none, 255) == "accepted");
    CHECK(told<ts::masked_cross_entropy<ts::ignore<255>>>(none, -100) ==
          "tessera: label -100 of sample 1 is not one of the 5 classes of masked_cross_entropy, nor 255, which it "
          "ignores");
    CHECK(contains(told<ts::masked_cross_entropy<>>(none, 5), "label 5 of sample 1 is not one of the 5 classes"));
    CHECK(contains(told<ts::cross_entropy>(none, -100), "label -100 of sample 1 is not one of the 5 classes"));
    CHECK(contains(told<ts::smooth_cross_entropy<0.1>>(none, -100), "is not one of the 5 classes"));
}
