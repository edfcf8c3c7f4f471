// SPDX-License-Identifier: Apache-2.0
// Metrics against counting by hand, on rows, sequences and images.
#include "tessera/execute/metrics.hpp"
#include "support/refusal.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <random>

namespace {

namespace ts = tessera;
using test_support::contains;
using test_support::message_of;

/// Random logits of some shape with each row's logits beside it, the row being counted as labels are.
struct drawn {
    ts::prediction logits;
    std::vector<std::vector<float>> rows;
    std::vector<std::int32_t> labels;
};
drawn draw(const ts::shape& extents, unsigned seed) {
    std::mt19937 random(seed);
    drawn d;
    d.logits.extents = extents;
    d.logits.values.resize(ts::to_size(extents.volume()));
    for (float& x : d.logits.values) {
        x = static_cast<float>(random() % 7); // with many that are equal
    }
    const bool sequence = extents.rank == 3;
    const ts::index_t classes = extents[sequence ? 2 : 1];
    const ts::index_t plane = sequence ? 1 : extents.volume() / extents[0] / classes;
    const ts::index_t outer = extents.volume() / classes / plane;
    for (ts::index_t n = 0; n < outer; ++n) {
        for (ts::index_t q = 0; q < plane; ++q) {
            std::vector<float>& row = d.rows.emplace_back();
            for (ts::index_t c = 0; c < classes; ++c) {
                row.push_back(d.logits.values[ts::to_size((n * classes + c) * plane + q)]);
            }
            d.labels.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(classes)));
        }
    }
    return d;
}

/// How many classes come before one, which is its place among the best.
std::size_t place_of(const std::vector<float>& row, std::size_t c) {
    std::size_t before = 0;
    for (std::size_t k = 0; k < row.size(); ++k) {
        before += row[k] > row[c] || (row[k] == row[c] && k < c) ? 1 : 0;
    }
    return before;
}

} // namespace

TEST_CASE("the best classes of rows, positions and pixels; accuracy among the best; confusion") {
    for (const ts::shape& extents : {ts::make_shape(40, 6), ts::make_shape(5, 8, 6), ts::make_shape(3, 6, 4, 5)}) {
        const drawn d = draw(extents, 3);
        for (const ts::index_t k : {1, 3, 6}) {
            const std::vector<ts::ranked_class> best = ts::top_k(d.logits, k);
            REQUIRE(best.size() == d.rows.size() * ts::to_size(k));
            ts::top_accuracy accuracy(k);
            accuracy.add(d.logits, d.labels);
            ts::index_t correct = 0;
            for (std::size_t r = 0; r < d.rows.size(); ++r) {
                for (std::size_t i = 0; i < ts::to_size(k); ++i) {
                    const ts::ranked_class& x = best[r * ts::to_size(k) + i];
                    CHECK(place_of(d.rows[r], ts::to_size(x.number)) == i);
                    CHECK(x.logit == d.rows[r][ts::to_size(x.number)]);
                }
                correct += place_of(d.rows[r], ts::to_size(d.labels[r])) < ts::to_size(k) ? 1 : 0;
            }
            CHECK(accuracy.correct() == correct);
            CHECK(accuracy.rows() == static_cast<ts::index_t>(d.rows.size()));
        }
        ts::confusion_matrix m(6);
        m.add(d.logits, d.labels);
        m.add(d.logits, d.labels); // adds up
        double mean = 0;
        for (std::size_t c = 0; c < 6; ++c) {
            ts::index_t both = 0;
            ts::index_t either = 0;
            for (std::size_t r = 0; r < d.rows.size(); ++r) {
                const bool is = d.labels[r] == static_cast<std::int32_t>(c);
                const bool taken = place_of(d.rows[r], c) == 0;
                both += is && taken ? 2 : 0;
                either += is || taken ? 2 : 0;
            }
            const auto k = static_cast<ts::index_t>(c);
            CHECK(m.count(k, k) == both);
            REQUIRE(either > 0);
            const double own = static_cast<double>(both) / static_cast<double>(either);
            CHECK(m.intersection_over_union(k) == doctest::Approx(own));
            mean += own / 6;
        }
        CHECK(m.mean_intersection_over_union() == doctest::Approx(mean));
        ts::top_accuracy first;
        first.add(d.logits, d.labels);
        CHECK(m.accuracy() == doctest::Approx(first.share()));
    }
}

TEST_CASE("classes that do not occur are left out of the mean; NaN is never the best") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const ts::prediction logits{ts::make_shape(2, 3), {nan, 1, 2, nan, nan, 0}};
    const std::vector<std::int32_t> labels{2, 2};
    ts::confusion_matrix m(3);
    m.add(logits, labels);
    CHECK(m.count(2, 2) == 2);
    CHECK(std::isnan(m.intersection_over_union(0)));
    CHECK(m.mean_intersection_over_union() == 1);
    CHECK(ts::top_k(logits, 3)[2].number == 0);
    CHECK(ts::perplexity(std::log(7.0)) == doctest::Approx(7));
}

TEST_CASE("what does not fit is refused") {
    const ts::prediction logits{ts::make_shape(2, 3), {0, 1, 2, 3, 4, 5}};
    const std::vector<std::int32_t> one{1};
    const std::vector<std::int32_t> wrong{1, 3};
    CHECK(contains(message_of([&] { (void)ts::top_k(logits, 4); }), "the best 4 of 3 classes"));
    CHECK(contains(message_of([&] { ts::top_accuracy().add(logits, one); }), "1 labels for 2 rows"));
    CHECK(contains(message_of([&] { ts::confusion_matrix(3).add(logits, wrong); }), "label 3 of row 1"));
    CHECK(contains(message_of([&] { ts::confusion_matrix(4).add(logits, one); }), "logits of 3 classes"));
    CHECK_THROWS_AS(ts::confusion_matrix(0), ts::error);
    CHECK_THROWS_AS((void)ts::top_k({ts::make_shape(2, 3), {1}}, 1), ts::error);
}
