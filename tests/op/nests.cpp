// SPDX-License-Identifier: Apache-2.0
// Operators that are written as loop nests: gradients against differences, values against the library's operators that
// are written by hand, what follows from a body, and what is refused.
#include "op/nests.hpp"
#include "examples/zoo/whisper.hpp"
#include "op/differences.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <functional>

using namespace tests;

TEST_CASE("gradients of loop nests are the derivatives of their forward pass") {
    for (const op_case& c : nests::table()) {
        CAPTURE(c.name);
        REQUIRE(!c.infer().refused);
        check_gradients(c);
    }
}

namespace {

/// Both compute the same from the same numbers, forward and backward.
void check_same(const op_case& a, const op_case& b) {
    op_instance x(a);
    op_instance y(b);
    const auto inputs_of = [](op_instance& op, ts::operand_kind kind, int slot) {
        return op.d.find_operand(kind, slot);
    };
    for (const auto kind : {ts::operand_kind::input, ts::operand_kind::parameter}) {
        for (int k = 0; inputs_of(x, kind, k) >= 0; ++k) {
            y.value[ts::to_size(inputs_of(y, kind, k))].numbers = x.value[ts::to_size(inputs_of(x, kind, k))].numbers;
        }
    }
    y.gradient[ts::to_size(y.d.output())].numbers = x.gradient[ts::to_size(x.d.output())].numbers;
    x.forward();
    y.forward();
    x.backward();
    y.backward();
    const auto check = [](const std::vector<double>& one, const std::vector<double>& other) {
        REQUIRE(one.size() == other.size());
        for (std::size_t i = 0; i < one.size(); ++i) {
            CHECK(one[i] == doctest::Approx(other[i]).epsilon(1e-9));
        }
    };
    check(x.value[ts::to_size(x.d.output())].numbers, y.value[ts::to_size(y.d.output())].numbers);
    for (const auto kind : {ts::operand_kind::input, ts::operand_kind::parameter}) {
        for (int k = 0; inputs_of(x, kind, k) >= 0; ++k) {
            check(x.gradient[ts::to_size(inputs_of(x, kind, k))].numbers,
                  y.gradient[ts::to_size(inputs_of(y, kind, k))].numbers);
        }
    }
}

/// The shapes of a use of a body with one input and one parameter: the output's, then the parameter's.
template <class Body>
constexpr std::array<ts::shape, 2> shapes_of(const ts::shape& x) {
    const ts::op_record& r = ts::record_of(Body::attributes);
    const ts::description d = r.describe(Body::attributes, &x, 1);
    return {r.infer(Body::attributes, &x, 1).output,
            d.operands[d.find_operand(ts::operand_kind::parameter, 0)].extents};
}

} // namespace

TEST_CASE("the extents of outputs and parameters do not depend on the order in which a compiler evaluates a line") {
    constexpr std::array<ts::shape, 2> constant = shapes_of<nests::one_line>(ts::make_shape(5, 7));
    for (const std::array<ts::shape, 2>& shapes : {constant, shapes_of<nests::one_line>(ts::make_shape(5, 7))}) {
        CHECK(shapes[0] == ts::make_shape(5, 7));
        CHECK(shapes[1] == ts::make_shape(7));
    }
}

TEST_CASE("loop nests compute what the library's operators do that are written by hand") {
    check_same({"", nests::layer::attributes, {ts::make_shape(5, 7)}},
               {"", {.kind = ts::op_kind::layer_norm}, {ts::make_shape(5, 7)}});
    check_same({"", nests::layer::attributes, {ts::make_shape(2, 3, 6)}},
               {"", {.kind = ts::op_kind::layer_norm}, {ts::make_shape(2, 3, 6)}});
    check_same({"", nests::soft_max::attributes, {ts::make_shape(4, 6)}},
               {"", {.kind = ts::op_kind::softmax}, {ts::make_shape(4, 6)}});
}

TEST_CASE("the library's norms of images are group norms and layer norms of other shapes") {
    check_same({"", {.kind = ts::op_kind::instance_norm}, {ts::make_shape(3, 4, 3, 2)}},
               {"",
                ts::attributes_of(ts::op_kind::group_norm, ts::op::group_norm_attributes{.groups = 4}),
                {ts::make_shape(3, 4, 3, 2)}});
    check_same({"", {.kind = ts::op_kind::image_layer_norm}, {ts::make_shape(3, 2, 3, 4)}},
               {"", {.kind = ts::op_kind::layer_norm}, {ts::make_shape(3, 24)}});
    check_same({"", {.kind = ts::op_kind::pixel_norm}, {ts::make_shape(6, 5, 1, 1)}},
               {"", {.kind = ts::op_kind::layer_norm}, {ts::make_shape(6, 5)}});
}

namespace {

using numbers = std::vector<double>;

/// What an operator makes, element by element, in the order of its output.
void check_formula(const op_case& c, const std::function<double(const op_instance&, std::size_t)>& expected) {
    op_instance op(c);
    op.forward();
    const numbers& y = op.value[ts::to_size(op.d.output())].numbers;
    CAPTURE(c.name);
    for (std::size_t i = 0; i < y.size(); ++i) {
        CHECK(y[i] == doctest::Approx(expected(op, i)).epsilon(1e-12));
    }
}

} // namespace

TEST_CASE("RMS norm, rotary positions and bilinear products follow their formulas") {
    check_formula({"rms_norm", {.kind = ts::op_kind::rms_norm}, {ts::make_shape(5, 7)}},
                  [](const op_instance& op, std::size_t i) {
                      const numbers& x = op.value[0].numbers;
                      double squares = 0;
                      for (std::size_t c = i / 7 * 7; c < i / 7 * 7 + 7; ++c) {
                          squares += x[c] * x[c];
                      }
                      return x[i] / std::sqrt(squares / 7 + 1e-5) * op.value[1].numbers[i % 7];
                  });
    check_formula(
        {"head_rms_norm", ts::head_rms_norm<ts::heads<3>, ts::epsilon<0.25>>::attributes, {ts::make_shape(2, 2, 12)}},
        [](const op_instance& op, std::size_t i) {
            const numbers& x = op.value[0].numbers;
            double squares = 0;
            for (std::size_t c = i / 4 * 4; c < i / 4 * 4 + 4; ++c) {
                squares += x[c] * x[c];
            }
            return x[i] / std::sqrt(squares / 4 + 0.25) * op.value[1].numbers[i % 4];
        });
    check_formula({"rotary",
                   ts::attributes_of(ts::op_kind::rotary, ts::op::rotary_attributes{.heads = 3}),
                   {ts::make_shape(2, 5, 12)}},
                  [](const op_instance& op, std::size_t i) {
                      const numbers& x = op.value[0].numbers;
                      const auto position = static_cast<double>(i / 12 % 5);
                      const std::size_t pair_number = i % 4 / 2;
                      const auto pair = static_cast<double>(pair_number);
                      const double angle = position * std::pow(10000.0, -2 * pair / 4);
                      return i % 2 == 0 ? x[i] * std::cos(angle) - x[i + 1] * std::sin(angle)
                                        : x[i - 1] * std::sin(angle) + x[i] * std::cos(angle);
                  });
    // As `transformers` computes it: x * cos + rotate_half(x) * sin, with the frequencies of LLaMA 3.1.
    check_formula({"rotary of halves, scaled",
                   ts::attributes_of(
                       ts::op_kind::rotary,
                       ts::op::rotary_attributes{
                           .heads = 2, .base = 50, .halves = true, .factor = 8, .low = 1, .high = 4, .original = 32}),
                   {ts::make_shape(2, 5, 24)}},
                  [](const op_instance& op, std::size_t i) {
                      const numbers& x = op.value[0].numbers;
                      const double pi = std::acos(-1.0);
                      const auto position = static_cast<double>(i / 24 % 5);
                      const std::size_t in_head = i % 12;
                      double frequency = std::pow(50.0, -2 * static_cast<double>(in_head % 6) / 12);
                      const double wave_length = 2 * pi / frequency;
                      if (wave_length > 32.0 / 1) {
                          frequency /= 8;
                      } else if (wave_length >= 32.0 / 4) {
                          const double smooth = (32 / wave_length - 1) / (4 - 1);
                          frequency = (1 - smooth) * frequency / 8 + smooth * frequency;
                      }
                      const double angle = position * frequency;
                      return x[i] * std::cos(angle) + (in_head < 6 ? -x[i + 6] : x[i - 6]) * std::sin(angle);
                  });
    check_formula({"bilinear",
                   ts::attributes_of(ts::op_kind::bilinear, ts::op::bilinear_attributes{.out = 3}),
                   {ts::make_shape(4, 5), ts::make_shape(4, 2)}},
                  [](const op_instance& op, std::size_t at_output) {
                      const std::size_t n = at_output / 3;
                      const std::size_t o = at_output % 3;
                      double sum = 0;
                      for (std::size_t i = 0; i < 5; ++i) {
                          for (std::size_t j = 0; j < 2; ++j) {
                              sum += op.value[0].numbers[n * 5 + i] * op.value[1].numbers[n * 2 + j] *
                                     op.value[2].numbers[(o * 5 + i) * 2 + j];
                          }
                      }
                      return sum;
                  });
}

TEST_CASE("Whisper's sines are those of its encoder") {
    check_formula({"sinusoids", networks::sinusoids::attributes, {ts::make_shape(2, 5, 12)}},
                  [](const op_instance& op, std::size_t i) {
                      const auto position = static_cast<double>(i / 12 % 5);
                      const std::size_t c = i % 12;
                      const double step = std::log(10000.0) / (12.0 / 2 - 1);
                      const double angle = position * std::exp(-step * static_cast<double>(c % 6));
                      return op.value[0].numbers[i] + (c < 6 ? std::sin(angle) : std::cos(angle));
                  });
}

TEST_CASE("heads of rotary positions have pairs of channels") {
    const auto broken = [](ts::index_t heads, const ts::shape& x) {
        return op_case{"", ts::attributes_of(ts::op_kind::rotary, ts::op::rotary_attributes{.heads = heads}), {x}}
            .infer()
            .refused.broken;
    };
    CHECK(broken(2, ts::make_shape(2, 3, 8)) == ts::rule::none);
    CHECK(broken(3, ts::make_shape(2, 3, 8)) == ts::rule::heads_do_not_divide_channels);
    CHECK(broken(8, ts::make_shape(2, 3, 8)) == ts::rule::heads_do_not_divide_channels);
    CHECK(broken(0, ts::make_shape(2, 3, 8)) == ts::rule::heads_do_not_divide_channels);
    CHECK(broken(2, ts::make_shape(2, 8)) == ts::rule::input_has_wrong_rank);
}
