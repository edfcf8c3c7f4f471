// SPDX-License-Identifier: Apache-2.0
// Reductions over dimensions against sums and maxima by hand; gradients and splits are those of tests/op/nests.hpp's
// table.
#include "tessera/op/reduce.hpp"
#include "op/differences.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace tests;

namespace {

/// Element (n, c, h, w) of the first input.
double number_at(const op_instance& op, ts::index_t n, ts::index_t c, ts::index_t h, ts::index_t w) {
    const ts::shape& x = op.row.inputs[0];
    return op.value[0].numbers[ts::to_size(((n * x[1] + c) * x[2] + h) * x[3] + w)];
}

} // namespace

TEST_CASE("means over a volume are those of its pool") {
    const std::vector<ts::shape> x{ts::make_shape(2, 3, 2, 3, 2)};
    const op_case means{"mean", ts::mean_over<2, 3, 4>::attributes, x};
    op_instance mean(means);
    const op_case pooled{"pool", {.kind = ts::op_kind::global_average_pool}, x};
    op_instance pool(pooled);
    mean.forward();
    pool.forward();
    REQUIRE(means.infer().output == ts::make_shape(2, 3));
    for (std::size_t i = 0; i < 6; ++i) {
        CHECK(mean.value[ts::to_size(mean.d.output())].numbers[i] ==
              doctest::Approx(pool.value[ts::to_size(pool.d.output())].numbers[i]).epsilon(1e-12));
    }
    check_gradients(means);
    check_gradients({"max", ts::max_over<2, 4>::attributes, x});
}

TEST_CASE("sums, means, largest and smallest numbers are over the dimensions that are said") {
    const std::vector<ts::shape> x{ts::make_shape(3, 4, 2, 5)};
    const op_case sums{"sum", ts::sum_over<1, 3>::attributes, x};
    const op_case means{"mean", ts::mean_over<1, 3>::attributes, x};
    const op_case largest{"max", ts::max_over<1, 3>::attributes, x};
    const op_case smallest{"min", ts::min_over_kept<1, 3>::attributes, x};
    CHECK(sums.infer().output == ts::make_shape(3, 2));
    CHECK(smallest.infer().output == ts::make_shape(3, 1, 2, 1));
    op_instance a(sums);
    op_instance b(means);
    op_instance c(largest);
    op_instance d(smallest);
    for (op_instance* op : {&a, &b, &c, &d}) {
        op->forward();
    }
    for (ts::index_t n = 0; n < 3; ++n) {
        for (ts::index_t h = 0; h < 2; ++h) {
            double sum = 0;
            double most = -1e9;
            double least = 1e9;
            for (ts::index_t k = 0; k < 4; ++k) {
                for (ts::index_t w = 0; w < 5; ++w) {
                    const double v = number_at(a, n, k, h, w);
                    sum += v;
                    most = std::max(most, v);
                    least = std::min(least, v);
                }
            }
            const auto at_place = ts::to_size(n * 2 + h);
            const auto result = [&](const op_instance& op) {
                return op.value[ts::to_size(op.d.output())].numbers[at_place];
            };
            CHECK(result(a) == doctest::Approx(sum).epsilon(1e-12));
            CHECK(result(b) == doctest::Approx(sum / 20).epsilon(1e-12));
            CHECK(result(c) == most);
            CHECK(result(d) == least);
        }
    }
}

TEST_CASE("gradients of reductions are derivatives") {
    check_gradients({"sum", ts::sum_over<1>::attributes, {ts::make_shape(3, 4)}});
    check_gradients({"mean", ts::mean_over<2, 3>::attributes, {ts::make_shape(2, 3, 4, 2)}});
    check_gradients({"max", ts::max_over<1>::attributes, {ts::make_shape(3, 4, 5)}});
    check_gradients({"min kept", ts::min_over_kept<2>::attributes, {ts::make_shape(3, 4, 5)}});
}

TEST_CASE("a sum or a mean is linear, so that partial sums pass; a dimension that the input has not is refused") {
    const op_case sums{"sum", ts::sum_over<2>::attributes, {ts::make_shape(3, 4, 5)}};
    CHECK(sums.describe().linear);
    CHECK(op_case{"mean", ts::mean_over_kept<1>::attributes, {ts::make_shape(3, 4)}}.describe().linear);
    const op_case flat{"sum", ts::sum_over<2>::attributes, {ts::make_shape(3, 4)}};
    CHECK(flat.infer().refused.broken == ts::rule::input_has_wrong_rank);
    CHECK(flat.infer().refused.needed == 3);
    CHECK(std::string(ts::record_of(ts::sum_over<1, 3>::attributes).name) == "sum_over_1_3");
    CHECK(std::string(ts::record_of(ts::max_over_kept<2>::attributes).name) == "max_over_kept_2");
}

TEST_CASE("NaN is the largest and the smallest number where there is one") {
    const op_case largest{"max", ts::max_over<1>::attributes, {ts::make_shape(2, 3)}};
    const op_case smallest{"min", ts::min_over<1>::attributes, {ts::make_shape(2, 3)}};
    for (const op_case* c : {&largest, &smallest}) {
        op_instance op(*c);
        op.value[0].numbers = {1, std::nan(""), 2, 3, -std::numeric_limits<double>::infinity(), 5};
        op.forward();
        const std::vector<double>& y = op.value[ts::to_size(op.d.output())].numbers;
        CHECK(std::isnan(y[0]));
        CHECK(y[1] == (c == &largest ? 5 : -std::numeric_limits<double>::infinity()));
    }
}
