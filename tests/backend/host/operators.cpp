// SPDX-License-Identifier: Apache-2.0
// Every way in which the host computes a pass of an operator, whole and in shards, against the reference loops in
// double precision: in several blocks, with numbers that are special, at the limits of kernels. As the table has the
// operators: tests/op_test.
#include "support/host_operators.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace {

using namespace host_operators;
using ts::make_shape;
using ts::op_kind;
using ts::operand_kind;

/// Puts numbers at two places of every operand of a kind; the output's are gradients.
void put(op_instance& x, operand_kind kind, std::vector<double> numbers, std::uint64_t seed) {
    random_numbers random{seed};
    for (int o = 0; o < x.d.operands.size(); ++o) {
        std::vector<double>& all = (kind == operand_kind::output ? x.gradient : x.value)[ts::to_size(o)].numbers;
        for (std::size_t k = 0; k < numbers.size() && x.d.operands[o].kind == kind && !all.empty(); ++k) {
            all[ts::to_size(random.below(static_cast<ts::index_t>(all.size())))] = numbers[k];
        }
    }
}

/// Replaces every number of the inputs and of the output's gradient.
template <class Function>
void change_all(op_instance& x, Function&& function) {
    for (int o = 0; o < x.d.operands.size(); ++o) {
        const operand_kind kind = x.d.operands[o].kind;
        for (double& v : (kind == operand_kind::output ? x.gradient : x.value)[ts::to_size(o)].numbers) {
            v = kind == operand_kind::input || kind == operand_kind::output ? function(v) : v;
        }
    }
}

/// Sums of products, some of which meet zeros from outside the image or from the filling of a block.
bool is_product(op_kind kind) {
    return kind == op_kind::conv2d || kind == op_kind::conv3d || kind == op_kind::transposed_conv2d ||
           kind == op_kind::linear || kind == op_kind::expert_linear || kind == op_kind::matmul;
}

/// A loss with the product before it: rows that do not count meet it as zeros.
bool has_product(const op_case& row) {
    return std::string_view(ts::record_of(row.attributes).name).find("vocabulary_loss") != std::string_view::npos;
}

/// Moves or chooses numbers, so that zeros keep their signs.
bool keeps_zeros(op_kind kind) {
    return kind == op_kind::relu || kind == op_kind::max_pool || kind == op_kind::max_pool3d ||
           kind == op_kind::concat || kind == op_kind::slice || kind == op_kind::flatten || kind == op_kind::add ||
           kind == op_kind::multiply || kind == op_kind::embedding || kind == op_kind::permute ||
           kind == op_kind::reshape || kind == op_kind::broadcast_to || kind == op_kind::crop ||
           kind == op_kind::roll || kind == op_kind::gather_rows || kind == op_kind::upsample_nearest ||
           kind == op_kind::flip;
}

/// Makes of the smallest numbers, or of their last bits, some that single precision has not.
bool is_steep_at_zero(op_kind kind) {
    return kind == op_kind::sqrt || kind == op_kind::power ||
           kind == ts::row_weighted_cross_entropy<>::attributes.kind; // divides by the square of what rows weigh
}

} // namespace

TEST_CASE("every way to compute an operator gives the reference's numbers over more than one block of samples") {
    tester t;
    for (op_case row : op_table()) {
        for (ts::shape& s : row.inputs) {
            s.extent[0] += 17;
        }
        t.check_row(row, 4, 3);
    }
    CHECK(t.candidates > 1000);
}

TEST_CASE("every way to compute an operator gives the reference's numbers over blocks of channels") {
    const std::vector<op_case> wide = {
        {"conv2d",
         ts::attributes_of(op_kind::conv2d,
                           ts::op::conv2d_attributes{.window = {3, 3}, .padding = {1, 1}, .out = 20, .bias = true}),
         {make_shape(2, 18, 5, 6)}},
        {"conv2d groups",
         ts::attributes_of(op_kind::conv2d,
                           ts::op::conv2d_attributes{.window = {3, 3}, .stride = {2, 2}, .out = 32, .groups = 2}),
         {make_shape(2, 32, 5, 6)}},
        {"conv3d",
         ts::attributes_of(
             op_kind::conv3d,
             ts::op::conv3d_attributes{.window = {3, 2, 3}, .padding = {1, 0, 1}, .out = 20, .bias = true}),
         {make_shape(2, 18, 3, 3, 4)}},
        {"conv3d groups",
         ts::attributes_of(op_kind::conv3d,
                           ts::op::conv3d_attributes{
                               .window = {2, 3, 3}, .stride = {1, 2, 2}, .padding = {1, 1, 0}, .out = 32, .groups = 2}),
         {make_shape(2, 32, 3, 4, 5)}},
        {"batch_norm of volumes", ts::op_attributes{.kind = op_kind::batch_norm}, {make_shape(2, 20, 3, 2, 2)}},
        {"global_average_pool of volumes",
         ts::op_attributes{.kind = op_kind::global_average_pool},
         {make_shape(2, 20, 3, 2, 4)}},
        {"max_pool3d",
         ts::attributes_of(op_kind::max_pool3d,
                           ts::op::pool3d_attributes{.window = {3, 2, 3}, .stride = {2, 2, 1}, .padding = {1, 0, 1}}),
         {make_shape(2, 20, 4, 4, 3)}},
        {"average_pool3d",
         ts::attributes_of(
             op_kind::average_pool3d,
             ts::op::average_pool3d_attributes{.window = {2, 2, 3}, .stride = {1, 2, 2}, .padding = {1, 0, 1}}),
         {make_shape(2, 20, 3, 4, 4)}},
        {"concat of volumes",
         ts::op_attributes{.kind = op_kind::concat},
         {make_shape(2, 16, 2, 3, 2), make_shape(2, 32, 2, 3, 2)}},
        {"add of volumes",
         ts::op_attributes{.kind = op_kind::add},
         {make_shape(2, 20, 2, 3, 2), make_shape(2, 20, 2, 3, 2)}},
        {"cross_entropy of voxels",
         ts::op_attributes{.kind = op_kind::cross_entropy},
         {make_shape(2, 20, 2, 3, 4), make_shape(2, 2, 3, 4)}},
        {"linear",
         ts::attributes_of(op_kind::linear, ts::op::linear_attributes{.out = 33, .bias = true}),
         {make_shape(18, 40)}},
        {"batch_norm", ts::op_attributes{.kind = op_kind::batch_norm}, {make_shape(3, 20, 3, 2)}},
        {"global_average_pool", ts::op_attributes{.kind = op_kind::global_average_pool}, {make_shape(3, 20, 3, 6)}},
        {"max_pool",
         ts::attributes_of(op_kind::max_pool,
                           ts::op::pool_attributes{.window = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}),
         {make_shape(2, 20, 5, 6)}},
        {"concat", ts::op_attributes{.kind = op_kind::concat}, {make_shape(2, 16, 2, 3), make_shape(2, 32, 2, 3)}},
        {"gelu", ts::op_attributes{.kind = op_kind::gelu}, {make_shape(2, 20, 2, 3)}},
        {"add", ts::op_attributes{.kind = op_kind::add}, {make_shape(2, 20, 2, 3), make_shape(2, 20, 2, 3)}},
        {"cross_entropy",
         ts::op_attributes{.kind = op_kind::cross_entropy},
         {make_shape(2, 20, 4, 5), make_shape(2, 4, 5)}},
    };
    tester t;
    for (const op_case& row : wide) {
        t.check_row(row, 5, 4);
    }
}

TEST_CASE("NaN and infinity stay in every way to compute an operator where the reference has them, and nowhere else") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double infinity = std::numeric_limits<double>::infinity();
    tester t;
    for (const op_case& row : op_table()) {
        // Of a row that sees one key the gradient of its score is a difference of two equal sums.
        const ts::op_kind kind = row.attributes.kind;
        const bool cancels = kind == ts::op_kind::attention || kind == ts::op_kind::padded_attention;
        std::uint64_t seed = 6;
        for (const double number : {nan, infinity, -infinity}) {
            CAPTURE(number);
            const bool spreads = is_product(kind) || has_product(row);
            t.close = {.absolute = cancels ? 1e-8 : 1e-12, .spreads = spreads, .fills = false};
            t.check_row(row, ++seed, 1, [&](op_instance& x) { put(x, operand_kind::input, {number, number}, seed); });
        }
        t.check_row(row, ++seed, 1, [&](op_instance& x) { put(x, operand_kind::output, {nan, infinity}, seed); });
        t.close.spreads = true; // parameters meet the zeros that fill up blocks
        t.check_row(row, ++seed, 1, [&](op_instance& x) { put(x, operand_kind::parameter, {nan, -infinity}, seed); });
    }
    CHECK(t.candidates > 1000);
}

TEST_CASE("denormal numbers and the signs of zeros stay in every way to compute an operator") {
    tester t;
    for (const op_case& row : op_table()) {
        t.close = {.absolute = 5e-42};
        if (!is_steep_at_zero(row.attributes.kind)) {
            t.check_row(row, 8, 1, [](op_instance& x) { change_all(x, [](double v) { return v * 1e-38; }); });
        }
        t.close = {.signs = keeps_zeros(row.attributes.kind)};
        t.check_row(row, 9, 1, [](op_instance& x) { change_all(x, [](double v) { return v < 0 ? -0.0 : 0.0; }); });
    }
}

TEST_CASE("windows up to the limits of the kernels, and past each of them, give the reference's numbers") {
    const auto conv = [](ts::index_t rows, ts::index_t columns, ts::index_t dilation = 1) {
        return op_case{"conv2d",
                       ts::attributes_of(op_kind::conv2d, ts::op::conv2d_attributes{.window = {rows, columns},
                                                                                    .padding = {0, columns > 1 ? 1 : 0},
                                                                                    .dilation = {1, dilation},
                                                                                    .out = 1,
                                                                                    .bias = true}),
                       {make_shape(1, 1, rows + 1, (columns - 1) * dilation + 1)}};
    };
    const auto pool = [](op_kind kind, ts::index_t rows, ts::index_t columns) {
        return op_case{
            "pool",
            ts::attributes_of(
                kind, ts::op::window_attributes{.window = {rows, columns}, .stride = {2, 1}, .padding = {0, 1}}),
            {make_shape(1, 2, rows + 2, columns)}};
    };
    std::vector<op_case> rows = {conv(1, 256),  conv(1, 257), conv(256, 1),   conv(300, 1), conv(32, 256),
                                 conv(33, 256), conv(91, 91), conv(128, 128), conv(1, 300), conv(2, 2, 300)};
    for (const op_kind kind : {op_kind::max_pool, op_kind::average_pool}) {
        for (const auto& [height, width] : {std::pair(16, 16), std::pair(1, 257), std::pair(17, 16)}) {
            rows.push_back(pool(kind, height, width));
        }
    }
    tester t;
    for (const op_case& row : rows) {
        CAPTURE(row.attributes.as<ts::op::window_attributes>().window[0]);
        CAPTURE(row.attributes.as<ts::op::window_attributes>().window[1]);
        t.check_row(row, 10, 1);
    }
}

// oneDNN takes tensors of one channel for either of two formats, and the one it takes decides how much scratch memory
// it wants.
TEST_CASE("convolutions of one channel stay in the scratch memory that their plan has") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        random_numbers random{seed};
        const auto draw = [&](ts::index_t least, ts::index_t most) { return least + random.below(most - least + 1); };
        ts::op::conv2d_attributes own{.out = draw(0, 3) == 0 ? 2 : 1, .bias = draw(0, 1) == 0};
        ts::index_t extent[2]{};
        for (int k = 0; k < 2; ++k) {
            own.window[k] = draw(1, 5);
            own.stride[k] = draw(1, 3);
            own.padding[k] = random.below(own.window[k]);
            extent[k] = draw(own.window[k], 12);
        }
        const op_case row{"conv2d",
                          ts::attributes_of(seed % 2 == 0 ? op_kind::transposed_conv2d : op_kind::conv2d, own),
                          {make_shape(draw(1, 4), 1, extent[0], extent[1])}};
        CAPTURE(seed);
        tester t;
        t.close = {.relative = 2e-4, .absolute = 1e-8}; // sums of some hundred numbers that nearly cancel
        t.check_row(row, seed, 2);
    }
}
