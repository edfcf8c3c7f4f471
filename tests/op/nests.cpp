// SPDX-License-Identifier: Apache-2.0
// Operators that are written as loop nests: gradients against differences, values against the library's operators that are written by hand, what
// follows from a body, and what is refused.
#include "op/nests.hpp"
#include "op/differences.hpp"

#include <doctest/doctest.h>

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
            y.value[at(inputs_of(y, kind, k))].numbers = x.value[at(inputs_of(x, kind, k))].numbers;
        }
    }
    y.gradient[at(y.d.output())].numbers = x.gradient[at(x.d.output())].numbers;
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
    check(x.value[at(x.d.output())].numbers, y.value[at(y.d.output())].numbers);
    for (const auto kind : {ts::operand_kind::input, ts::operand_kind::parameter}) {
        for (int k = 0; inputs_of(x, kind, k) >= 0; ++k) {
            check(x.gradient[at(inputs_of(x, kind, k))].numbers, y.gradient[at(inputs_of(y, kind, k))].numbers);
        }
    }
}

} // namespace

TEST_CASE("loop nests compute what the library's operators do that are written by hand") {
    check_same({"", nests::layer::attributes, {ts::make_shape(5, 7)}},
               {"", {.kind = ts::op_kind::layer_norm}, {ts::make_shape(5, 7)}});
    check_same({"", nests::layer::attributes, {ts::make_shape(2, 3, 6)}},
               {"", {.kind = ts::op_kind::layer_norm}, {ts::make_shape(2, 3, 6)}});
    check_same({"", nests::soft_max::attributes, {ts::make_shape(4, 6)}},
               {"", {.kind = ts::op_kind::softmax}, {ts::make_shape(4, 6)}});
}
