// SPDX-License-Identifier: Apache-2.0
// The reference kernels of sequences and attention against formulas that are written out here without any description.
#include "op/harness.hpp"
#include "support/known_operators.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace {

using namespace tests;

using numbers = std::vector<double>;

void check_equal(const numbers& found, const numbers& expected) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-11));
    }
}

/// Rows of the last dimension: calls body(first element, row number within its matrix).
template <class Body>
void for_each_row(const ts::shape& s, Body&& body) {
    const ts::index_t length = s[s.rank - 1];
    const ts::index_t matrix = s.rank > 2 ? s[s.rank - 2] : 1;
    for (ts::index_t row = 0; row < s.volume() / length; ++row) {
        body(row * length, row % matrix);
    }
}

numbers softmax(const op_instance& op) {
    const ts::shape& s = op.row.inputs[0];
    const numbers& x = op.value[0].numbers;
    numbers y(x.size());
    for_each_row(s, [&](ts::index_t first, ts::index_t row) {
        ts::index_t length = op.row.attributes.as<ts::op::softmax_attributes>().causal
                                 ? std::min(row + 1, s[s.rank - 1])
                                 : s[s.rank - 1];
        if (op.row.inputs.size() > 1) { // of a padded sequence
            length = std::min<ts::index_t>(length, op.value[1].integers[ts::to_size(first / (s.volume() / s[0]))]);
        }
        double sum = 0;
        for (ts::index_t i = 0; i < length; ++i) {
            sum += std::exp(x[ts::to_size(first + i)]);
        }
        for (ts::index_t i = 0; i < length; ++i) {
            y[ts::to_size(first + i)] = std::exp(x[ts::to_size(first + i)]) / sum;
        }
    });
    return y;
}

numbers layer_norm(const op_instance& op) {
    const ts::shape& s = op.row.inputs[0];
    const ts::index_t length = s[s.rank - 1];
    const auto count = static_cast<double>(length);
    const numbers& x = op.value[0].numbers;
    numbers y(x.size());
    for_each_row(s, [&](ts::index_t first, ts::index_t) {
        double mean = 0;
        for (ts::index_t i = 0; i < length; ++i) {
            mean += x[ts::to_size(first + i)] / count;
        }
        double variance = 0;
        for (ts::index_t i = 0; i < length; ++i) {
            variance += (x[ts::to_size(first + i)] - mean) * (x[ts::to_size(first + i)] - mean) / count;
        }
        for (ts::index_t i = 0; i < length; ++i) {
            y[ts::to_size(first + i)] =
                (x[ts::to_size(first + i)] - mean) / std::sqrt(variance + 1e-5) * op.value[1].numbers[ts::to_size(i)] +
                op.value[2].numbers[ts::to_size(i)];
        }
    });
    return y;
}

/// One element of an input of a product, by sample, head, row and column after transposition.
double element(const op_instance& op, int side, ts::index_t n, ts::index_t h, ts::index_t row, ts::index_t column) {
    const auto a = op.row.attributes.as<ts::op::matmul_attributes>();
    const ts::shape& s = op.row.inputs[ts::to_size(side)];
    if (a.transposed[side]) {
        std::swap(row, column);
    }
    const numbers& x = op.value[ts::to_size(side)].numbers;
    if (s.rank == 4) {
        return x[ts::to_size(((n * s[1] + h) * s[2] + row) * s[3] + column)];
    }
    return x[ts::to_size((n * s[1] + row) * s[2] + h * (s[2] / a.heads) + column)];
}

numbers matmul(const op_instance& op) {
    const auto a = op.row.attributes.as<ts::op::matmul_attributes>();
    const ts::shape& x = op.row.inputs[0];
    const ts::shape& y = op.value[2].region.extents();
    const bool folds = a.heads > 1 && x.rank == 4;
    const ts::index_t heads = x.rank == 4 ? x[1] : a.heads;
    const ts::index_t rows = y[y.rank - 2];
    const ts::index_t columns = y[y.rank - 1] / (folds ? heads : 1);
    const ts::index_t summed = a.transposed[0] ? x[x.rank - 2] : x[x.rank - 1] / (x.rank == 3 ? heads : 1);
    numbers z(op.value[2].numbers.size());
    for (ts::index_t n = 0; n < x[0]; ++n) {
        for (ts::index_t h = 0; h < heads; ++h) {
            for (ts::index_t i = 0; i < rows; ++i) {
                for (ts::index_t j = 0; j < columns; ++j) {
                    double sum = 0;
                    for (ts::index_t k = 0; k < summed; ++k) {
                        sum += element(op, 0, n, h, i, k) * element(op, 1, n, h, k, j);
                    }
                    sum /= a.scaled ? std::sqrt(static_cast<double>(summed)) : 1.0;
                    const ts::index_t to = folds ? (n * rows + i) * heads * columns + h * columns + j
                                                 : ((n * heads + h) * rows + i) * columns + j;
                    z[ts::to_size(to)] = sum;
                }
            }
        }
    }
    return z;
}

} // namespace

TEST_CASE("softmax, layer norm and products follow their formulas") {
    int checked = 0;
    for (const op_case& c : op_table()) {
        op_instance op(c);
        op.forward();
        CAPTURE(c.name);
        const numbers& y = op.value[ts::to_size(op.d.output())].numbers;
        switch (test_support::known(c.attributes.kind)) {
        case test_support::known_op::softmax:
        case test_support::known_op::padded_softmax:
            check_equal(y, softmax(op));
            break;
        case test_support::known_op::layer_norm:
            check_equal(y, layer_norm(op));
            break;
        case test_support::known_op::matmul:
            check_equal(y, matmul(op));
            break;
        default:
            continue;
        }
        ++checked;
    }
    CHECK(checked == 16);
}

TEST_CASE("every pass that an operator has is supported in every precision, and an update where there are running "
          "statistics") {
    for (const ts::op_record* r : ts::library_operators) {
        CAPTURE(std::string(r->name));
        for (const ts::precision math : {ts::precision::fp32, ts::precision::tf32, ts::precision::bf16}) {
            for (const ts::pass what : {ts::pass::forward, ts::pass::backward, ts::pass::backward_input,
                                        ts::pass::backward_weight, ts::pass::recompute, ts::pass::evaluate}) {
                CHECK(ts::reference::supports(*r, what, math));
            }
            CHECK(ts::reference::supports(*r, ts::pass::update, math) == (r == &ts::op::batch_norm_record));
        }
    }
    constexpr ts::op_record made_up{.name = "made_up"};
    CHECK(!ts::reference::supports(made_up, ts::pass::forward, ts::precision::fp32));
}

TEST_CASE("an embedding looks its tokens up; a token's gradient goes to its row, added up") {
    const op_case row{
        "embedding",
        ts::attributes_of(ts::op_kind::embedding, ts::op::embedding_attributes{.vocabulary = 3, .out = 2}),
        {ts::make_shape(2, 2)}};
    op_instance op(row);
    op.value[0].integers = {2, 0, 2, 2};
    op.value[1].numbers = {1, 2, 10, 20, 100, 200};
    op.forward();
    CHECK(op.value[2].numbers == numbers{100, 200, 1, 2, 100, 200, 100, 200});
    op.gradient[2].numbers = {1, 2, 3, 4, 5, 6, 7, 8};
    op.backward();
    CHECK(op.gradient[1].numbers == numbers{3, 4, 0, 0, 13, 16});
}

TEST_CASE("a position embedding adds its table to every sample") {
    const op_case row{"positions", {.kind = ts::op_kind::position_embedding}, {ts::make_shape(2, 2, 2)}};
    op_instance op(row);
    op.value[0].numbers = {1, 2, 3, 4, 5, 6, 7, 8};
    op.value[1].numbers = {10, 20, 30, 40};
    op.forward();
    CHECK(op.value[2].numbers == numbers{11, 22, 33, 44, 15, 26, 37, 48});
}

TEST_CASE("slices and concatenation along an axis") {
    const op_case positions{
        "slice",
        ts::attributes_of(ts::op_kind::slice, ts::op::slice_attributes{.begin = 1, .out = 1, .axis = 1}),
        {ts::make_shape(2, 2, 2)}};
    op_instance cut(positions);
    cut.value[0].numbers = {1, 2, 3, 4, 5, 6, 7, 8};
    cut.forward();
    CHECK(cut.value[1].numbers == numbers{3, 4, 7, 8});
    const op_case channels{"slice",
                           ts::attributes_of(ts::op_kind::slice, ts::op::slice_attributes{.begin = 1, .out = 1}),
                           {ts::make_shape(2, 2, 2)}};
    op_instance last(channels);
    last.value[0].numbers = {1, 2, 3, 4, 5, 6, 7, 8};
    last.forward();
    CHECK(last.value[1].numbers == numbers{2, 4, 6, 8});
    last.gradient[1].numbers = {1, 2, 3, 4};
    last.backward();
    CHECK(last.gradient[0].numbers == numbers{0, 1, 0, 2, 0, 3, 0, 4});
    const op_case stack{"concat",
                        ts::attributes_of(ts::op_kind::concat, ts::op::concat_attributes{.axis = 1}),
                        {ts::make_shape(2, 1, 2), ts::make_shape(2, 2, 2)}};
    op_instance join(stack);
    join.value[0].numbers = {1, 2, 3, 4};
    join.value[1].numbers = {10, 11, 12, 13, 14, 15, 16, 17};
    join.forward();
    CHECK(join.value[2].numbers == numbers{1, 2, 10, 11, 12, 13, 3, 4, 14, 15, 16, 17});
}

TEST_CASE("the losses of a sequence are those of its positions one by one") {
    const op_case sequence{
        "sequence", {.kind = ts::op_kind::cross_entropy}, {ts::make_shape(2, 3, 4), ts::make_shape(2, 3)}};
    const op_case flat{"flat", {.kind = ts::op_kind::cross_entropy}, {ts::make_shape(6, 4), ts::make_shape(6)}};
    op_instance a(sequence);
    op_instance b(flat);
    b.value[0].numbers = a.value[0].numbers;
    b.value[1].integers = a.value[1].integers;
    a.forward();
    b.forward();
    CHECK(a.value[ts::to_size(a.d.output())].numbers == b.value[ts::to_size(b.d.output())].numbers);
    a.backward();
    b.backward();
    CHECK(a.gradient[0].numbers == b.gradient[0].numbers);
}
