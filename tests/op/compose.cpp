// SPDX-License-Identifier: Apache-2.0
// Expressions of expressions: values and gradients are those of the operators one after the other, and of differences.
#include "op/differences.hpp"

#include "tessera/op/expression/compose.hpp"
#include "tessera/op/expression/fused.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace tests;

namespace {

namespace ex = ts::expression;

struct gated : ts::elementwise<gated> {
    static constexpr auto of(auto x, auto y) { return x * sigmoid(y) + 0.5 * y; }
};
struct blend : ts::elementwise<blend> {
    static constexpr auto of(auto x, auto y, auto z) { return x * y + tanh(z); }
};

/// An operator of tensors 0, 1, ... that makes another.
ex::applied applied(const ts::op_attributes& a, std::initializer_list<int> tensors, int output) {
    ex::applied x;
    x.of = ts::record_of(a).formula;
    int k = 0;
    for (const int t : tensors) {
        x.tensors[k++] = t;
    }
    const auto own = a.as<ts::op::expression_attributes>();
    for (int i = 0; i < ex::most_attributes; ++i) {
        x.attributes[i] = own.number[i];
    }
    x.output = output;
    return x;
}
ex::applied applied(ts::op_kind kind, std::initializer_list<int> tensors, int output) {
    return applied(ts::op_attributes{.kind = kind}, tensors, output);
}

/// The result, or the gradient of an input, at one point.
double at_point(const ex::formula& f, int which, const std::vector<double>& inputs, double gradient,
                const ts::op_attributes& of = {}) {
    ts::reference::detail::formula_loop<double> loop(f, which, of);
    double result = 0;
    if (which >= 0 && f.reads_result(which)) {
        result = at_point(f, ex::the_result, inputs, gradient, of);
    }
    return *loop(1, [&](int leaf, double* to) {
        *to = leaf == f.inputs ? result : leaf > f.inputs ? gradient : inputs[ts::to_size(leaf)];
    });
}

void check_differences(const std::string& name, const ex::composition& c, const std::vector<ts::shape>& inputs) {
    REQUIRE(c.fits);
    const ts::op_record& r = ts::op::fused_record(name, c.of);
    check_gradients({name, ts::op_attributes{.kind = {&r}}, inputs});
}

const ts::shape square = ts::make_shape(3, 4);

} // namespace

TEST_CASE("a fused operator's gradients are differences of what it computes") {
    const ex::applied silu = applied(ts::op_kind::silu, {0}, 10);
    const ex::applied sigmoid = applied(ts::op_kind::sigmoid, {1}, 11);
    check_differences("silu then multiply", ex::compose(applied(ts::op_kind::multiply, {10, 1}, 12), &silu, 1),
                      {square, square});
    const ex::applied both[] = {silu, sigmoid};
    check_differences("two makers", ex::compose(applied(ts::op_kind::multiply, {10, 11}, 12), both, 2),
                      {square, square});
    check_differences("one tensor in two places", ex::compose(applied(ts::op_kind::multiply, {10, 0}, 12), &silu, 1),
                      {square});
    const ex::applied twice = applied(gated::attributes, {0, 1}, 10);
    check_differences("one's own", ex::compose(applied(blend::attributes, {10, 0, 2}, 12), &twice, 1),
                      {square, square, square});
    check_differences("a maker that is read twice", ex::compose(applied(blend::attributes, {10, 10, 1}, 12), &silu, 1),
                      {square, square});
    check_differences("broadcast", ex::compose(applied(ts::op_kind::multiply, {10, 1}, 12), &silu, 1),
                      {ts::make_shape(2, 3, 2, 2), ts::make_shape(2, 3, 1, 1)});
    const auto slope = ts::attributes_of(ts::op_kind::leaky_relu, ts::op::expression_attributes{.number = {0.3}});
    const ex::applied leaky = applied(slope, {0}, 10);
    check_differences("with an attribute", ex::compose(applied(ts::op_kind::multiply, {10, 1}, 12), &leaky, 1),
                      {square, square});
}

TEST_CASE("a fused operator computes what its operators do one after the other") {
    const ex::applied tanh = applied(ts::op_kind::tanh, {0}, 10);
    const ex::composition c = ex::compose(applied(gated::attributes, {10, 1}, 11), &tanh, 1);
    REQUIRE(c.fits);
    CHECK(c.of.inputs == 2);
    for (const double x : {-2.0, -0.1, 0.0, 1.5}) {
        const std::vector<double> in = {x, 0.7 - x};
        const ex::formula& inner = *tanh.of;
        const ex::formula& outer = *ts::record_of(gated::attributes).formula;
        const std::vector<double> between = {at_point(inner, ex::the_result, {x}, 0), in[1]};
        CHECK(at_point(c.of, ex::the_result, in, 0) == at_point(outer, ex::the_result, between, 0));
        const double back = at_point(outer, 0, between, 0.6);
        CHECK(at_point(c.of, 0, in, 0.6) == doctest::Approx(at_point(inner, 0, {x}, back)).epsilon(1e-14));
        CHECK(at_point(c.of, 1, in, 0.6) == at_point(outer, 1, between, 0.6));
    }
}

TEST_CASE("what an operator does not choose stays out of gradients, be it infinite, also where operators are fused") {
    const double infinity = std::numeric_limits<double>::infinity();
    const ex::applied relu = applied(ts::op_kind::relu, {0}, 10);
    const ex::composition c = ex::compose(applied(ts::op_kind::multiply, {10, 1}, 11), &relu, 1);
    CHECK(at_point(c.of, 0, {-1, infinity}, 1) == 0);
    CHECK(at_point(c.of, 0, {1, 3}, 1) == 3);
    const ex::applied stopped = applied(ts::op_kind::stop_gradient, {0}, 10);
    const ex::composition none = ex::compose(applied(ts::op_kind::multiply, {10, 0}, 11), &stopped, 1);
    CHECK(at_point(none.of, 0, {5}, 1) == 5); // of the other place alone
}

TEST_CASE("backward of a fused operator reads the result where that saves inputs") {
    const ex::applied add = applied(ts::op_kind::add, {0, 1}, 10);
    const ex::composition c = ex::compose(applied(ts::op_kind::sigmoid, {10}, 11), &add, 1);
    REQUIRE(c.fits);
    CHECK(c.of.reads[0] == 4U); // the result's bit, behind those of two inputs
    CHECK(c.of.reads[1] == 4U);
    CHECK(at_point(c.of, 0, {0.3, 0.4}, 2) ==
          doctest::Approx(at_point(*ts::op::sigmoid_record.formula, 0, {0.7}, 2)).epsilon(1e-14));
    const ex::applied silu = applied(ts::op_kind::silu, {0}, 10);
    const ex::composition gate = ex::compose(applied(ts::op_kind::multiply, {10, 1}, 11), &silu, 1);
    CHECK(gate.of.reads[0] == 3U);
    CHECK(gate.of.reads[1] == 1U);
    CHECK(!gate.of.linear);
    const ex::applied three = applied(ts::op_kind::add, {0, 1}, 10);
    const ex::composition sum = ex::compose(applied(ts::op_kind::subtract, {10, 2}, 11), &three, 1);
    CHECK(sum.of.linear);
    CHECK(!sum.of.passes_gradient);
    const ex::composition added = ex::compose(applied(ts::op_kind::add, {10, 2}, 11), &three, 1);
    CHECK(added.of.passes_gradient);
    CHECK(added.of.inputs == 3);
    CHECK(added.of.flops == 2);
}

TEST_CASE("a formula has at most four inputs and 64 nodes") {
    const ex::applied left = applied(blend::attributes, {0, 1, 2}, 10);
    const ex::applied right = applied(blend::attributes, {2, 3, 4}, 11);
    const ex::applied both[] = {left, right};
    CHECK(!ex::compose(applied(ts::op_kind::add, {10, 11}, 12), both, 2).fits);
    CHECK(ex::compose(applied(ts::op_kind::add, {10, 3}, 12), both, 1).fits);
    // Each composition is the maker of the next, until there is no room.
    std::vector<ex::composition> grown;
    grown.reserve(64);
    ex::applied last = applied(ts::op_kind::gelu, {0}, 10);
    int steps = 0;
    for (; steps < 40; ++steps) {
        const ex::applied again = applied(ts::op_kind::gelu, {last.output}, last.output + 1);
        const ex::composition c = ex::compose(again, &last, 1);
        if (!c.fits) {
            break;
        }
        CHECK(c.of.nodes.count <= ex::max_nodes);
        grown.push_back(c);
        last = {&grown.back().of, {}, {0}, again.output};
    }
    CHECK(steps >= 2);
    CHECK(steps < 40);
}

TEST_CASE("one name is one formula, and another formula of that name gets another") {
    const ex::applied silu = applied(ts::op_kind::silu, {0}, 10);
    const ex::composition a = ex::compose(applied(ts::op_kind::multiply, {10, 1}, 11), &silu, 1);
    const ex::composition b = ex::compose(applied(ts::op_kind::add, {10, 1}, 11), &silu, 1);
    const ts::op_record& first = ts::op::fused_record("a name", a.of);
    CHECK(&first == &ts::op::fused_record("a name", a.of));
    const ts::op_record& second = ts::op::fused_record("a name", b.of);
    CHECK(&second != &first);
    CHECK(std::string(second.name) == "a name'");
    CHECK(&second == &ts::op::fused_record("a name", b.of));
}
