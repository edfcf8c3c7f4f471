// SPDX-License-Identifier: Apache-2.0
// Operators that are defined outside the library (those of examples/own_operator.hpp) are first-class ones:
// derivatives, splits, plans, training.
#include "examples/own_operator.hpp"
#include "op/differences.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/backend/reference/network.hpp"
#include "tessera/host.hpp"
#include "tessera/schedule/gpipe.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace tests;

namespace {

constexpr ts::index_t batch = 12;

struct fc1 : ts::linear<8> {};
struct norm : own::rms_norm {};
struct fc2 : ts::linear<6> {};
struct network : ts::sequential<ts::features<5>, fc1, norm, own::softsign, fc2, ts::cross_entropy> {};

struct numbers {
    ts::index_t size = batch;
    std::vector<float> inputs;
    std::vector<std::int32_t> labels;
};

numbers some_numbers() {
    std::mt19937 draw(5);
    std::normal_distribution<float> normal;
    numbers n;
    for (ts::index_t i = 0; i < batch * 5; ++i) {
        n.inputs.push_back(normal(draw));
    }
    for (ts::index_t i = 0; i < batch; ++i) {
        n.labels.push_back(static_cast<std::int32_t>(i % 6));
    }
    return n;
}

/// Parameters after three steps, in order, without plan or strategy.
std::vector<std::vector<double>> expected(const numbers& n) {
    const ts::graph g = ts::describe<network>(batch);
    ts::reference::network oracle(g.view());
    oracle.initialize(1);
    oracle.set(0, std::span<const float>(n.inputs));
    for (int t = 0; t < g.view().tensor_count; ++t) {
        if (g.view().tensors[t].type == ts::element::i32) {
            oracle.set(t, std::span<const std::int32_t>(n.labels));
        }
    }
    for (std::uint64_t step = 0; step < 3; ++step) {
        (void)oracle.train_step({.seed = 1, .step = step, .learning_rate = 0.2}, ts::sgd{.learning_rate = 0.2F});
    }
    return oracle.parameters;
}

/// Splits of the three middle operators drawn at random, where they are legal.
ts::strategy drawn(const ts::graph_view& g, std::mt19937& draw, int devices) {
    ts::strategy s(g);
    for (int op = 0; op < g.op_count; ++op) {
        const ts::description d = g.describe(op);
        ts::configuration c;
        const int loop = static_cast<int>(draw() % static_cast<unsigned>(d.loops.size()));
        c.degree[loop] = devices;
        c.reduces = true;
        ts::strategy with = s;
        with.ops[ts::to_size(op)] = c;
        if (!ts::check_strategy(g, with.view(), devices)) {
            s = with;
        }
    }
    return s;
}

template <class B>
void check_training(int devices) {
    const numbers n = some_numbers();
    const std::vector<std::vector<double>> oracle = expected(n);
    std::mt19937 draw(static_cast<unsigned>(devices));
    const ts::graph g = ts::describe<network>(batch);
    int split = 0;
    for (int round = 0; round < 12; ++round) {
        const ts::strategy s = drawn(g.view(), draw, devices);
        split += s.ops[1].degree[1] > 1 ? 1 : 0;
        ts::trainer<network, B> t(ts::local_devices(devices), s, batch, ts::sgd{.learning_rate = 0.2F});
        for (int step = 0; step < 3; ++step) {
            (void)t.step(n);
        }
        for (int p = 0; p < g.view().parameter_count; ++p) {
            const std::vector<float> found = t.values().parameter(p);
            REQUIRE(found.size() == oracle[ts::to_size(p)].size());
            for (std::size_t i = 0; i < found.size(); ++i) {
                CHECK(static_cast<double>(found[i]) == doctest::Approx(oracle[ts::to_size(p)][i]).epsilon(2e-5));
            }
        }
    }
    CHECK((split > 0) ==
          (devices == 2)); // the norm's channels among them, where 2 divides them: partial sums of an own operator
}

/// Of the library's "relu" nothing but the name's uniqueness is asked.
constexpr ts::op_record without_rows{
    .name = "without_rows",
    .infer = [](const ts::op_attributes&, const ts::shape* x, int count) { return ts::op::infer_alike(x, count); },
    .describe = [](const ts::op_attributes&, const ts::shape* x,
                   int) { return ts::op::describe_function(*x, 1, true); },
};

} // namespace

TEST_CASE("gradients of one's own operators are the derivatives of their forward passes") {
    check_gradients({"softsign", own::softsign::attributes, {ts::make_shape(3, 4)}});
    check_gradients({"softsign of images", own::softsign::attributes, {ts::make_shape(2, 3, 2, 2)}});
    check_gradients({"rms_norm", own::rms_norm::attributes, {ts::make_shape(4, 7)}});
}

TEST_CASE("one's own operators train under drawn splits as the oracle does, on the reference backend and on the host") {
    for (const int devices : {1, 2, 3}) {
        CAPTURE(devices);
        check_training<ts::reference::backend>(devices);
        check_training<ts::host::backend>(devices);
    }
}

TEST_CASE("expressions and loop nests of one's own have kernels on the host where networks are types") {
    const ts::op_record& r = ts::record_of(own::softsign::attributes);
    CHECK(ts::host::operator_rows(ts::host::rows_of<ts::operators_of<network>>()).find(r) != nullptr);
    CHECK(ts::host::operator_rows(ts::host::rows_of<ts::operator_of<own::softsign>>()).find(r) != nullptr);
    // Of an expression that the compiler did not see the nodes run one after the other.
    CHECK(ts::host::operator_rows(ts::host::rows_of<ts::operator_of<own::rms_norm>>()).find(r) ==
          &ts::host::any_expression);
    CHECK(ts::host::operator_rows(ts::host::rows_of<ts::operators_of<network>>()).find(r) != &ts::host::any_expression);
    CHECK(ts::host::supports(r, ts::pass::forward, ts::precision::fp32));
    const ts::op_record& sums = ts::record_of(own::rms_norm::attributes);
    CHECK(ts::host::operator_rows(ts::host::rows_of<ts::operators_of<network>>()).find(sums) != nullptr);
    CHECK(ts::host::operator_rows(ts::host::rows_of<ts::operator_of<own::softsign>>()).find(sums) == nullptr);
    CHECK(ts::host::supports(sums, ts::pass::forward, ts::precision::fp32));
}

TEST_CASE("an opaque body is split along the loops that it declares free, and along no other") {
    const ts::shape x = ts::make_shape(4, 6, 8);
    for (const int free : {1, 2}) {
        const ts::description d = ts::op::describe_opaque(&x, 1, x, 1, free);
        for (int l = 0; l < d.loops.size(); ++l) {
            CHECK(d.loops[l].whole == (l >= free));
        }
        ts::interval ranges[ts::max_loops] = {{0, 2}, {0, 3}, {0, 8}};
        const ts::box read = ts::region(d, 0, ranges);
        CHECK(read.dim[0].size() == 2);
        CHECK(read.dim[1].size() == (free == 2 ? 3 : 6));
        CHECK(read.dim[2].size() == 8);
    }
}

TEST_CASE("an operator without rows is refused by name when it is bound, on every backend") {
    ts::graph g = ts::describe<network>(batch);
    for (ts::op_node& op : g.ops) {
        if (op.attributes.kind == own::softsign::attributes.kind) {
            op.attributes.kind = {&without_rows};
        }
    }
    const auto message = [&](auto backend) -> std::string {
        ts::workers threads(1);
        try {
            const ts::session<decltype(backend)> s(g.view(), ts::strategy(g.view()), 1, ts::sgd{}, {}, backend,
                                                   threads);
        } catch (const ts::error& e) {
            return e.what();
        }
        return "";
    };
    CHECK(message(ts::reference::backend(ts::sgd{})).find("no loops for the operator without_rows") !=
          std::string::npos);
    CHECK(message(ts::host::backend(ts::sgd{})).find("does not know the operator without_rows") != std::string::npos);
}
