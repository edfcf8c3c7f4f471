// SPDX-License-Identifier: Apache-2.0
// Which operators become one, and what a plan saves by it.
#include "tessera/plan/fuse.hpp"
#include "tessera/plan/finish.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/schedule/gpipe.hpp"
#include "tessera/tessera.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <ostream>

namespace ts = tessera;

namespace {

struct x;
struct target;
struct gate : ts::linear<64> {};
struct up : ts::linear<64> {};
struct down : ts::linear<16> {};
struct act : ts::silu {};
struct gated : ts::multiply {};
struct loss : ts::mse_loss {};

/// A gated feed-forward network (SwiGLU): down(silu(gate(x)) * up(x)).
struct swiglu : ts::dag<ts::input<x, ts::features<16>>, ts::input<target, ts::features<16>>, ts::node<gate, gate, x>,
                        ts::node<act, act, gate>, ts::node<up, up, x>, ts::node<gated, gated, act, up>,
                        ts::node<down, down, gated>, ts::node<loss, loss, down, target>> {};

struct counted {
    std::size_t tasks = 0;
    ts::index_t arena = 0;

    friend bool operator==(const counted&, const counted&) = default;
    friend std::ostream& operator<<(std::ostream& to, const counted& c) {
        return to << c.tasks << " tasks, " << c.arena << " bytes";
    }
};

/// Of the finished plan of a network under a strategy, on one device or more: all tasks, and the largest arena.
counted count(const ts::fused_network& n, int devices, const ts::lower_options& o = {}) {
    ts::plan p = ts::lower(n.network.view(), n.how.view(), devices, o);
    ts::complete(p);
    return {p.tasks.size(), *std::max_element(p.arena_bytes.begin(), p.arena_bytes.end())};
}

/// The names of the operators.
std::vector<std::string> kinds_of(const ts::fused_network& n) {
    std::vector<std::string> all;
    for (const ts::op_node& o : n.network.ops) {
        all.emplace_back(ts::to_text(o.attributes.kind));
    }
    return all;
}
bool has_kind(const ts::fused_network& n, const std::string& kind) {
    const std::vector<std::string> all = kinds_of(n);
    return std::find(all.begin(), all.end(), kind) != all.end();
}

int op_of(const ts::graph_view& g, const char* path) {
    const ts::network_paths paths = ts::paths_of(g);
    return static_cast<int>(std::find(paths.ops.begin(), paths.ops.end(), path) - paths.ops.begin());
}

/// Networks that are made operator by operator.
struct built {
    ts::graph_builder b;
    ts::type_key next_key = 1;

    int input(const ts::shape& s) { return b.add_input(s, ts::element::f32, "in"); }
    int add(const ts::op_attributes& a, std::initializer_list<int> inputs, const char* name = nullptr) {
        const std::vector<int> from(inputs);
        return b.add_op(a, ts::layer_name(name != nullptr ? name : ts::to_text(a.kind)), next_key++, false, from.data(),
                        static_cast<int>(from.size()));
    }
    int add(ts::op_kind kind, std::initializer_list<int> inputs, const char* name = nullptr) {
        return add(ts::op_attributes{.kind = kind}, inputs, name);
    }
    int scaled(double by, int from) {
        return add(ts::attributes_of(ts::op_kind::scale, ts::op::expression_attributes{.number = {by}}), {from});
    }
    int dense(int from, ts::index_t outputs) {
        return add(ts::attributes_of(ts::op_kind::linear, ts::op::linear_attributes{.out = outputs}), {from});
    }
    ts::graph graph() const { return b.built(); }
};

} // namespace

TEST_CASE("with fusion switched off, tasks and arena of SwiGLU grow") {
    const ts::graph g = ts::describe<swiglu>(32);
    const ts::strategy one(g.view());
    const ts::fused_network fused = ts::fuse(g.view(), one);
    CHECK(kinds_of(fused) == std::vector<std::string>{"linear", "linear", "multiply(silu(0),1)", "linear", "mse_loss"});
    CHECK(fused.is_changed());
    // Two tasks fewer, silu's forward and backward; and what it makes, 32 x 64 floats, is in no arena.
    CHECK(count(fused, 1) == counted{19, 45056});
    CHECK(count(ts::not_fused(g.view(), one), 1) == counted{21, 45056 + 32 * 64 * 4});

    ts::strategy four(g.view());
    for (ts::configuration& c : four.ops) {
        c.degree[0] = 2;
    }
    four.micro_batches = 2;
    // Two for each of two shards of two micro-batches; a device has one of these at a time.
    CHECK(count(ts::fuse(g.view(), four), 2) == counted{76, 25216});
    CHECK(count(ts::not_fused(g.view(), four), 2) == counted{84, 25216 + 8 * 64 * 4});
}

TEST_CASE("with fusion switched off, tasks and arena of AdamW's steps grow") {
    // w (1 - rate decay) - rate m' / (1 - beta1) / (sqrt(v' / (1 - beta2)) + epsilon), in the first step, of 1024
    // numbers.
    built n;
    const ts::shape numbers = ts::make_shape(1, 1024);
    const int w = n.input(numbers);
    const int m = n.input(numbers);
    const int v = n.input(numbers);
    const int g = n.input(numbers);
    const int decayed = n.scaled(1 - 0.001 * 0.01, w);
    const int first = n.add(ts::op_kind::add, {n.scaled(0.9, m), n.scaled(0.1, g)});
    const int second =
        n.add(ts::op_kind::add, {n.scaled(0.999, v), n.scaled(0.001, n.add(ts::op_kind::multiply, {g, g}))});
    const int root = n.add(ts::op_kind::sqrt, {n.scaled(1 / 0.001, second)});
    const int below =
        n.add(ts::attributes_of(ts::op_kind::add_constant, ts::op::expression_attributes{.number = {1e-8}}), {root});
    const int step = n.add(ts::op_kind::divide, {n.scaled(0.001 / 0.1, first), below});
    const int updated = n.add(ts::op_kind::subtract, {decayed, step});
    const ts::graph network = n.graph();
    const ts::strategy one(network.view());
    const std::vector<int> wanted = {first, second, updated};
    const ts::fused_network fused = ts::fuse(network.view(), one, wanted, false);
    const ts::fused_network apart = ts::not_fused(network.view(), one);
    CHECK(apart.network.ops.size() == 14);
    CHECK(fused.network.ops.size() == 3); // the moments, which are asked for, and the weights
    const auto counted_of = [&](const ts::fused_network& x) {
        ts::lower_options o;
        o.kind = ts::run_kind::evaluation;
        for (const int t : wanted) {
            o.wanted.push_back(x.tensors[ts::to_size(t)]);
            CHECK(o.wanted.back() >= 0);
        }
        return count(x, 1, o);
    };
    // Four inputs are taken in; what is between has two tiles at a time.
    CHECK(counted_of(fused) == counted{4 + 3, 4 * 4096});
    CHECK(counted_of(apart) == counted{4 + 14, (4 + 2) * 4096});

    // A trainer's update is one formula on every backend: one task for each parameter, and nothing of it in an arena.
    const ts::graph trained = ts::describe<swiglu>(32);
    const ts::fused_network network_of_update = ts::not_fused(trained.view(), ts::strategy(trained.view()));
    ts::lower_options adamw;
    adamw.update = ts::adamw{};
    const ts::plan p = ts::lower(trained.view(), network_of_update.how.view(), 1, adamw);
    CHECK(std::count_if(p.tasks.begin(), p.tasks.end(), [](const ts::task& t) {
              return t.kind() == ts::task_kind::update;
          }) == trained.view().parameter_count);
    CHECK(count(network_of_update, 1, adamw) == count(network_of_update, 1));
}

TEST_CASE("what is asked for, or read elsewhere, is still made") {
    const ts::graph g = ts::describe<swiglu>(32);
    const ts::strategy one(g.view());
    const int silu = g.view().ops[op_of(g.view(), "act")].output;
    const ts::fused_network asked = ts::fuse(g.view(), one, {silu});
    CHECK(!asked.is_changed());
    CHECK(asked.tensors[ts::to_size(silu)] >= 0);
    const ts::fused_network not_asked = ts::fuse(g.view(), one);
    CHECK(not_asked.tensors[ts::to_size(silu)] == -1);

    built n;
    const int in = n.input(ts::make_shape(8, 6));
    const int fc = n.dense(in, 6);
    const int inner = n.add(ts::op_kind::tanh, {fc});
    const int outer = n.add(ts::op_kind::sigmoid, {inner});
    n.add(ts::mse_loss::attributes, {outer, n.dense(inner, 6)});
    const ts::graph twice = n.graph();
    CHECK(!ts::fuse(twice.view(), ts::strategy(twice.view())).is_changed());
    static_cast<void>(outer);
}

TEST_CASE("operators of different configurations do not fuse") {
    const ts::graph g = ts::describe<swiglu>(32);
    const auto silu = ts::to_size(op_of(g.view(), "act"));
    const auto product = ts::to_size(op_of(g.view(), "gated"));
    const auto fuses = [&](const ts::strategy& s) {
        ts::require(g.view(), s.view(), 4);
        return ts::fuse(g.view(), s).is_changed();
    };
    ts::strategy s(g.view());
    CHECK(fuses(s));
    s.ops[silu].degree[0] = s.ops[product].degree[0] = 2;
    CHECK(fuses(s));
    ts::strategy other = s;
    other.ops[product].degree[0] = 1;
    other.ops[product].degree[1] = 2;
    CHECK(!fuses(other)); // splits
    other = s;
    other.ops[product].stride = 2;
    CHECK(!fuses(other)); // devices
    other.ops[silu].stride = 2;
    CHECK(fuses(other));
    other = s;
    other.place(static_cast<int>(product), {0, 1}); // the same, said otherwise
    CHECK(fuses(other));
    other.place(static_cast<int>(product), {1, 0});
    CHECK(!fuses(other));
    other = s;
    other.ops[silu].recompute = true;
    CHECK(!fuses(other));
    other.ops[product].recompute = true;
    CHECK(fuses(other));
    other = s;
    other.ops[silu].replicate = 2;
    CHECK(!fuses(other));
    other = s;
    other.cut(static_cast<int>(silu), 0, {10});
    CHECK(!fuses(other));
    other.cut(static_cast<int>(product), 0, {12});
    CHECK(!fuses(other));
    other.cut(static_cast<int>(product), 0, {10});
    CHECK(fuses(other));
    other = s;
    for (std::size_t op = product; op < other.ops.size(); ++op) {
        other.ops[op].stage = 1;
    }
    other.follow(ts::schedule::gpipe(2, 2));
    CHECK(!ts::fuse(g.view(), other).is_changed()); // stages
}

TEST_CASE("a chain fuses into one operator, as far as a formula has room") {
    built n;
    const int in = n.input(ts::make_shape(8, 6));
    int t = n.dense(in, 6);
    t = n.add(ts::op_kind::silu, {t});
    t = n.scaled(0.5, t);
    t = n.add(ts::op_kind::add, {t, in});
    n.add(ts::mse_loss::attributes, {n.add(ts::op_kind::silu, {t}), in});
    const ts::graph g = n.graph();
    const ts::fused_network fused = ts::fuse(g.view(), ts::strategy(g.view()));
    CHECK(has_kind(fused, "silu(add(scale[0.5](silu(0)),1))"));
    CHECK(fused.network.ops.size() == 3);

    built deep;
    int y = deep.dense(deep.input(ts::make_shape(8, 6)), 6);
    for (int i = 0; i < 20; ++i) {
        y = deep.add(ts::op_kind::gelu, {y});
    }
    deep.add(ts::mse_loss::attributes, {y, 0});
    const ts::graph long_chain = deep.graph();
    const ts::fused_network some = ts::fuse(long_chain.view(), ts::strategy(long_chain.view()));
    CHECK(some.network.ops.size() > 4);
    CHECK(some.network.ops.size() < 12);
    for (const ts::op_node& o : some.network.ops) {
        const ts::expression::formula* const f = ts::record_of(o.attributes).formula;
        CHECK((f == nullptr || f->nodes.count <= ts::expression::max_nodes));
    }
}

TEST_CASE("in training nothing fuses that backward would pay for") {
    // relu(a + b): one gradient for both summands, and fused it would be two tensors.
    built n;
    const int in = n.input(ts::make_shape(8, 6));
    const int sum = n.add(ts::op_kind::add, {n.dense(in, 6), n.dense(in, 6)});
    n.add(ts::mse_loss::attributes, {n.add(ts::op_kind::relu, {sum}), in});
    const ts::graph g = n.graph();
    const ts::strategy one(g.view());
    CHECK(!ts::fuse(g.view(), one).is_changed());
    CHECK(has_kind(ts::fuse(g.view(), one, {}, false), "relu(add(0,1))")); // there is no backward in an evaluation

    // exp keeps its result, and the product reads it: fused, both summands would be kept in its place.
    built k;
    const int from = k.input(ts::make_shape(8, 6));
    const int a = k.dense(from, 6);
    const int b = k.dense(from, 6);
    const int c = k.dense(from, 6);
    const int e = k.add(ts::op_kind::exp, {k.add(ts::op_kind::subtract, {a, b})});
    k.add(ts::mse_loss::attributes, {k.add(ts::op_kind::multiply, {e, c}), from});
    const ts::graph h = k.graph();
    CHECK(!has_kind(ts::fuse(h.view(), ts::strategy(h.view())), "multiply(exp(subtract(0,1)),2)"));
}

TEST_CASE("inputs that are broadcast stay what they are, and what is broadcast itself is made once") {
    built n;
    const int in = n.input(ts::make_shape(4, 3, 5, 5));
    const int small = n.input(ts::make_shape(4, 3, 1, 1));
    const int wide = n.add(ts::op_kind::sigmoid, {n.add(ts::op_kind::multiply, {in, small})});
    const int narrow = n.add(ts::op_kind::sigmoid, {small});
    const int result = n.add(ts::op_kind::multiply, {wide, narrow});
    const ts::graph g = n.graph();
    const ts::fused_network fused = ts::fuse(g.view(), ts::strategy(g.view()), {}, false);
    CHECK(kinds_of(fused) == std::vector<std::string>{"sigmoid", "multiply(sigmoid(multiply(0,1)),2)"});
    CHECK(fused.network.tensors.back().extents == g.tensors[ts::to_size(result)].extents);
}

namespace {

struct alpha {
    struct act : ts::elementwise<act> {
        static constexpr auto of(auto v) { return v / (1 + abs(v)); }
    };
};
struct kept : ts::elementwise<kept> {
    static constexpr auto of(auto v) { return v * v; }
    static constexpr ts::own_row rows[] = {{"a backend", nullptr}};
};

} // namespace

TEST_CASE("messages about a rewritten network name the user's layers, and dropout draws as before") {
    built n;
    const int in = n.input(ts::make_shape(8, 6));
    int t = n.dense(in, 6);
    t = n.add(ts::op_kind::silu, {t}, "act");
    t = n.add(ts::op_kind::tanh, {t}, "act");
    t = n.dense(t, 6);
    t = n.add(ts::op_kind::silu, {t}, "act");
    t = n.add(ts::op_kind::tanh, {t}, "act");
    t = n.add(ts::op_kind::dropout, {t});
    n.add(ts::mse_loss::attributes, {n.dense(t, 6), in});
    const ts::graph g = n.graph();
    const ts::fused_network fused = ts::fuse(g.view(), ts::strategy(g.view()));
    REQUIRE(fused.network.ops.size() == g.ops.size() - 2);
    const ts::network_paths before = ts::paths_of(g.view());
    const ts::network_paths after = ts::paths_of(fused.network.view());
    for (std::size_t op = 0; op < fused.ops.size(); ++op) {
        CHECK(after.ops[op] == before.op(fused.ops[op]));
        CHECK(ts::path_of(fused.network.view(), static_cast<int>(op)) == before.op(fused.ops[op]));
        CHECK(fused.network.view().number_of(static_cast<int>(op)) == fused.ops[op]);
    }
    CHECK(before.op(fused.ops[1]) == "act.1"); // the last one's
    CHECK(after.parameters == before.parameters);
    for (int p = 0; p < g.view().parameter_count; ++p) {
        CHECK(ts::parameter_path_of(fused.network.view(), p) == before.parameter(p));
    }
}

TEST_CASE("an operator of one's own fuses, unless it brings rows that are to run it") {
    const auto network = [](const ts::op_attributes& own) {
        built n;
        const int in = n.input(ts::make_shape(8, 6));
        const int t = n.add(own, {n.dense(in, 6)}, "own");
        n.add(ts::mse_loss::attributes, {n.add(ts::op_kind::silu, {t}), in});
        return n.graph();
    };
    const ts::graph fuses = network(alpha::act::attributes);
    CHECK(ts::fuse(fuses.view(), ts::strategy(fuses.view())).is_changed());
    const ts::graph stays = network(kept::attributes);
    CHECK(!ts::fuse(stays.view(), ts::strategy(stays.view())).is_changed());
}

TEST_CASE("a partial tensor passes through linear operators that have become one") {
    built n;
    const int in = n.input(ts::make_shape(8, 6));
    const int t = n.scaled(3, n.scaled(2, n.dense(in, 6)));
    n.add(ts::mse_loss::attributes, {t, in});
    const ts::graph g = n.graph();
    ts::strategy s(g.view());
    s.ops[0].degree[2] = 2; // its inputs
    s.ops[1].partial = s.ops[2].partial = 2;
    ts::require(g.view(), s.view(), 2);
    const ts::fused_network fused = ts::fuse(g.view(), s);
    CHECK(fused.is_changed());
    ts::require(fused.network.view(), fused.how.view(), 2);
}
