// SPDX-License-Identifier: Apache-2.0
// Losses that are defined outside the library: one whose labels are numbers, and one that has none. A network in
// sequence brings along the labels that the loss wants, and trains as the formulas say, on one device and on two.
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/net/describe.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

namespace ts = tessera;

constexpr ts::index_t batch = 6;
constexpr int inputs = 3;
constexpr int outputs = 2;
constexpr double rate = 0.125;

/// The sum of (x - target)^2, or of x^2 where there are no targets, of every row of x[N,C].
constexpr ts::description describe_squares(const ts::shape& x, bool targets) {
    ts::detail::describer w;
    const int n = w.add_loop(ts::loop_name::sample, x[0]);
    const int c = w.add_loop(ts::loop_name::channel, x[1]);
    std::uint32_t reads = 0;
    for (int slot = 0; slot < (targets ? 2 : 1); ++slot) {
        const int o = w.add_operand(ts::operand_kind::input, slot);
        w.index(o, x[0], n);
        w.index(o, x[1], c);
        w.d.operands[o].differentiable = slot == 0;
        reads |= ts::bit(o);
    }
    const int out = w.add_operand(ts::operand_kind::output, 0);
    w.index(out, x[0], n);
    w.d.operands[0].gradient_reads = reads;
    w.add_nest(w.all_loops(), reads, out, ts::reducer::sum, 3);
    return w.d;
}

struct square_loops {
    /// Of every element: what differs from its target, and the place of the output or of the gradient.
    template <class Real, class Body>
    static void each(const ts::reference::shard<Real>& s, const ts::reference::detail::cursor& to, Body&& body) {
        const bool targets = s.call.d->find_operand(ts::operand_kind::input, 1) >= 0;
        const int other = targets ? s.input(1) : s.input();
        const Real* const x = s.value(s.input());
        const Real* const t = s.value(other);
        s.walk({s.value_at(s.input()), s.value_at(other), to}, [&](const auto& r) {
            for (ts::index_t i = 0; i < r.count; ++i) {
                const Real target = targets ? t[r.at[1] + i * r.step[1]] : Real(0);
                body(x[r.at[0] + i * r.step[0]] - target, r.at[2] + i * r.step[2]);
            }
        });
    }
    template <class Real>
    static void forward(const ts::reference::shard<Real>& s, int) {
        Real* const y = s.value(s.output());
        s.fill(s.output(), Real(0));
        each(s, s.value_at(s.output()), [&](Real differs, ts::index_t at) { y[at] += differs * differs; });
    }
    template <class Real>
    static void backward(const ts::reference::shard<Real>& s, int o) {
        Real* const to = s.gradient(o);
        const Real scale = static_cast<Real>(s.call.loss_scale);
        each(s, s.gradient_at(o), [&](Real differs, ts::index_t at) { to[at] += 2 * differs * scale; });
    }
};

constexpr auto square_rows = ts::reference::own_rows_of<square_loops>();

constexpr ts::inferred infer_squares(const ts::shape* x, int count) {
    const ts::inferred r = ts::op::infer_alike(x, count);
    return r.refused ? r : ts::inferred{{}, ts::make_shape(x[0][0])};
}
constexpr ts::op_record squared_error_record{
    .name = "squared_error",
    .infer = [](const ts::op_attributes&, const ts::shape* x, int count) { return infer_squares(x, count); },
    .describe = [](const ts::op_attributes&, const ts::shape* x, int) { return describe_squares(*x, true); },
    .inputs = 2,
    .facts = {.loss = true},
    .rows = {{"reference", &square_rows}},
};
constexpr ts::op_record energy_record{
    .name = "energy",
    .infer = [](const ts::op_attributes&, const ts::shape* x, int count) { return infer_squares(x, count); },
    .describe = [](const ts::op_attributes&, const ts::shape* x, int) { return describe_squares(*x, false); },
    .facts = {.loss = true},
    .rows = {{"reference", &square_rows}},
};
struct squared_error {
    static constexpr ts::op_attributes attributes{.kind = {&squared_error_record}};
};
struct energy {
    static constexpr ts::op_attributes attributes{.kind = {&energy_record}};
};

struct fc : ts::linear<outputs> {};
struct regression : ts::sequential<ts::features<inputs>, fc, squared_error> {};
struct decay : ts::sequential<ts::features<inputs>, fc, energy> {};

std::vector<float> some(std::size_t count, double step) {
    std::vector<float> v;
    for (std::size_t i = 0; i < count; ++i) {
        v.push_back(static_cast<float>(static_cast<double>(i * i % 11) * step - 0.5));
    }
    return v;
}

/// The losses of four steps by the formulas, in double, from these parameters on.
std::vector<double> by_hand(std::vector<double> w, std::vector<double> b, const std::vector<float>& x,
                            const std::vector<float>& targets) {
    const auto at = [](ts::index_t i, int of, int k) { return ts::to_size(i * of + k); };
    std::vector<double> losses;
    for (int step = 0; step < 4; ++step) {
        std::vector<double> dw(w.size());
        std::vector<double> db(b.size());
        double loss = 0;
        for (ts::index_t n = 0; n < batch; ++n) {
            for (int o = 0; o < outputs; ++o) {
                double y = b[at(0, 0, o)];
                for (int i = 0; i < inputs; ++i) {
                    y += w[at(o, inputs, i)] * static_cast<double>(x[at(n, inputs, i)]);
                }
                y -= targets.empty() ? 0 : static_cast<double>(targets[at(n, outputs, o)]);
                loss += y * y / batch;
                db[at(0, 0, o)] += 2 * y / batch;
                for (int i = 0; i < inputs; ++i) {
                    dw[at(o, inputs, i)] += 2 * y / batch * static_cast<double>(x[at(n, inputs, i)]);
                }
            }
        }
        losses.push_back(loss);
        for (std::size_t i = 0; i < w.size(); ++i) {
            w[i] -= rate * dw[i];
        }
        for (std::size_t i = 0; i < b.size(); ++i) {
            b[i] -= rate * db[i];
        }
    }
    return losses;
}

template <class Net, class Inputs>
void check_training(const std::vector<float>& targets, const std::vector<float>& x, const Inputs& given) {
    for (const int devices : {1, 2}) {
        CAPTURE(devices);
        const ts::graph g = ts::describe<Net>(batch);
        ts::strategy s(g.view());
        for (ts::configuration& c : s.ops) {
            c.degree[0] = devices;
        }
        ts::trainer<Net, ts::reference::backend> t(ts::local_devices(devices), s, batch,
                                                   ts::sgd{.learning_rate = static_cast<float>(rate)});
        const auto doubles = [&](int p) {
            const std::vector<float> v = t.values().parameter(p);
            return std::vector<double>(v.begin(), v.end());
        };
        const std::vector<double> losses = by_hand(doubles(0), doubles(1), x, targets);
        for (const double loss : losses) {
            const ts::scores e = t.evaluate(given);
            CHECK(e.loss == doctest::Approx(loss).epsilon(1e-5));
            CHECK(e.rows == 0); // no classes, of which some could be right
            CHECK(static_cast<double>(t.step(given)) == doctest::Approx(loss).epsilon(1e-5));
        }
        CHECK(losses.back() < losses.front());
    }
}

TEST_CASE("a loss says which labels it compares with, and a sequence brings them along") {
    const ts::graph with = ts::describe<regression>(batch);
    REQUIRE(ts::detail::count_inputs(with.view()) == 2);
    const ts::tensor_node& labels = with.tensors[ts::to_size(with.ops[1].inputs[1])];
    CHECK(std::string(labels.name) == "labels");
    CHECK(labels.type == ts::element::f32);
    CHECK(labels.extents == ts::make_shape(batch, outputs));
    const ts::graph without = ts::describe<decay>(batch);
    CHECK(ts::detail::count_inputs(without.view()) == 1);
    CHECK(without.ops[1].inputs.size() == 1);
}

TEST_CASE("losses of one's own train as their formulas say") {
    const std::vector<float> x = some(batch * inputs, 0.1);
    const std::vector<float> targets = some(batch * outputs, 0.2);
    check_training<regression>(targets, x,
                               ts::named_batch(ts::feed<ts::features<inputs>>(x), ts::feed<ts::labels>(targets)));
    check_training<decay>({}, x, ts::named_batch(ts::feed<ts::features<inputs>>(x)));
}

} // namespace
