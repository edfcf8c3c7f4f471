// SPDX-License-Identifier: Apache-2.0
// Precisions of a network: bf16 numbers, what they change in graph and plan, and the reference backend in bf16, which
// other backends are held against, under several strategies against one device; loss scaling.
#include "support/networks.hpp"
#include "support/same_numbers.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/measure/sharded.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/host.hpp"
#include "tessera/net/describe.hpp"
#include "tessera/net/precision.hpp"
#include "tessera/plan/finish.hpp"
#include "tessera/simulate/task_time.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace {

namespace ts = tessera;
using namespace test_support;

using in_bf16 = ts::with_precision<ts::bf16, test_networks::residual_net::network>;
using in_tf32 = ts::with_precision<ts::tf32, test_networks::residual_net::network>;

/// The largest relative differences of a run on the reference backend from one device in double.
comparison against_one_device(const ts::graph_view& g, const ts::strategy& s, int devices,
                              const ts::optimizer& update) {
    const batch_data data(g, 7);
    const oracle expected(g, data, update, 2, 11);
    ts::reference::backend backend(update);
    ts::workers threads(devices);
    ts::session_options options;
    options.seed = 11;
    options.keep_gradients = true;
    ts::session<ts::reference::backend> session(g, s, devices, update, options, backend, threads);
    return compare(session, g, data, expected);
}

ts::plan plan_of(const ts::graph_view& g, const ts::strategy& s, int devices) {
    ts::lower_options o;
    o.update = ts::sgd{.momentum = 0.9F};
    ts::plan p = ts::lower(g, s.view(), devices, o);
    ts::finish(g, p);
    return p;
}

} // namespace

TEST_CASE("bf16 numbers are the nearest ones, the even one of two") {
    // Every bf16 number is itself; between two neighbours the middle goes to the even one, what is beside it to the
    // nearer one.
    for (unsigned bits = 0; bits < 0x7f80; ++bits) {
        ts::bfloat16 low;
        low.bits = static_cast<std::uint16_t>(bits);
        const float x = low;
        CHECK_UNARY(ts::bfloat16(x).bits == bits);
        CHECK_UNARY(ts::bfloat16(-x).bits == (bits | 0x8000U));
        const float middle = std::bit_cast<float>((bits << 16U) + 0x8000U);
        CHECK_UNARY(ts::bfloat16(middle).bits == bits + (bits & 1U));
        CHECK_UNARY(ts::bfloat16(std::nextafter(middle, 0.0F)).bits == bits);
        CHECK_UNARY(ts::bfloat16(std::nextafter(middle, std::numeric_limits<float>::infinity())).bits == bits + 1);
    }
    CHECK(std::isnan(static_cast<float>(ts::bfloat16(std::numeric_limits<float>::quiet_NaN()))));
    CHECK(std::isinf(static_cast<float>(ts::bfloat16(3.4e38F))));
    static_assert(ts::round_to_bf16(1.00390625) == 1.0);
    static_assert(ts::round_to_bf16(1.01171875) == 1.015625);
}

TEST_CASE("a precision is a trait of the network: types of tensors, an attribute of operators, nothing else") {
    constexpr ts::graph_view plain = ts::describe<test_networks::residual_net::network, 4>();
    constexpr ts::graph_view half = ts::describe<in_bf16, 4>();
    constexpr ts::graph_view tensor_cores = ts::describe<in_tf32, 4>();
    REQUIRE(plain.op_count == half.op_count);
    REQUIRE(plain.tensor_count == half.tensor_count);
    for (int i = 0; i < plain.op_count; ++i) {
        CHECK(plain.ops[i].attributes.math == ts::precision::fp32);
        CHECK(half.ops[i].attributes.math == ts::precision::bf16);
        CHECK(tensor_cores.ops[i].attributes.math == ts::precision::tf32);
        CHECK(plain.ops[i].name == half.ops[i].name);
        const ts::description d = half.describe(i);
        for (const ts::operand& o : d.operands) {
            const bool activation = o.kind == ts::operand_kind::input || o.kind == ts::operand_kind::output;
            const bool loss = half.is_loss(i) && o.kind == ts::operand_kind::output;
            CHECK((o.type == ts::element::bf16) == (activation && !loss && o.type != ts::element::i32));
        }
    }
    for (int t = 0; t < plain.tensor_count; ++t) {
        const bool loss = plain.tensors[t].producer >= 0 && plain.is_loss(plain.tensors[t].producer);
        const bool halves = plain.tensors[t].type == ts::element::f32 && !loss;
        CHECK(half.tensors[t].type == (halves ? ts::element::bf16 : plain.tensors[t].type));
        CHECK(tensor_cores.tensors[t].type == plain.tensors[t].type);
    }
    static_assert(
        std::is_same_v<ts::layer_at<in_bf16, 0>::type, ts::layer_at<test_networks::residual_net::network, 0>::type>);
    // The same for a network that is a value.
    ts::graph g = ts::describe<test_networks::residual_net::network>(4);
    ts::set_precision(g, ts::precision::bf16);
    for (int t = 0; t < half.tensor_count; ++t) {
        CHECK(g.tensors[ts::to_size(t)].type == half.tensors[t].type);
    }
    ts::set_precision(g, ts::precision::fp32);
    CHECK(g.tensors[0].type == ts::element::f32);
}

TEST_CASE("a plan in bf16 has tiles, arenas and transfers of 2 bytes for activations, and fp32 parameters") {
    const ts::graph plain = ts::describe<test_networks::lenet5::network>(8);
    const ts::graph half = ts::describe<ts::with_precision<ts::bf16, test_networks::lenet5::network>>(8);
    ts::strategy s(plain.view());
    for (ts::configuration& c : s.ops) {
        c.degree[0] = 2;
        c.reduces = true;
    }
    s.ops[0].degree[0] = 1; // a redistribution between the first and the second operator
    const ts::plan a = plan_of(plain.view(), s, 2);
    const ts::plan b = plan_of(half.view(), s, 2);
    REQUIRE(a.tiles.size() == b.tiles.size());
    ts::index_t activations = 0;
    for (std::size_t i = 0; i < a.tiles.size(); ++i) {
        const ts::tile& x = a.tiles[i];
        const ts::tile& y = b.tiles[i];
        const bool loss = x.tensor >= 0 && x.kind == ts::tile_kind::activation &&
                          plain.tensors[ts::to_size(x.tensor)].producer == static_cast<int>(plain.ops.size()) - 1;
        if ((x.kind == ts::tile_kind::activation || x.kind == ts::tile_kind::gradient) && !loss &&
            x.type == ts::element::f32) {
            CHECK(y.type == ts::element::bf16);
            CHECK(2 * y.bytes == x.bytes);
            activations += x.bytes;
        } else if (x.device >= 0) {
            CHECK(y.type == x.type);
            CHECK(y.bytes == x.bytes);
        }
    }
    CHECK(activations > 0);
    int halved = 0; // what the simulator takes for the bytes of a task
    for (std::size_t i = 0; i < a.tasks.size(); ++i) {
        const ts::task& t = a.tasks[i];
        if (t.kind() == ts::task_kind::compute && t.op >= 0) {
            const auto bytes = [&](const ts::graph& g, const ts::plan& p) {
                return ts::simulation::work_of(g.view(), g.view().describe(t.op), p.tiles, p.tasks[i]).bytes;
            };
            const ts::op_kind kind = plain.ops[ts::to_size(t.op)].attributes.kind;
            const bool pool = kind == ts::op_kind::max_pool || kind == ts::op_kind::average_pool;
            CHECK((pool ? 2 * bytes(half, b) == bytes(plain, a) : bytes(half, b) <= bytes(plain, a)));
            halved += pool ? 1 : 0;
        }
    }
    CHECK(halved > 0);
    CHECK(a.persistent_bytes == b.persistent_bytes);
    CHECK(b.arena_bytes[0] < a.arena_bytes[0]);
    CHECK(b.moved_bytes < a.moved_bytes);
    CHECK(a.hash != b.hash);
    CHECK(ts::to_text(ts::element::bf16) == std::string("bf16"));
    // A copy keeps the type of elements, and so does another name for a tile.
    int copies = 0;
    int names = 0;
    for (std::size_t i = 0; i < b.tasks.size(); ++i) {
        ts::plan wrong = b;
        const ts::task& t = wrong.tasks[i];
        if (t.kind() == ts::task_kind::copy && copies == 0) {
            wrong.tiles[ts::to_size(t.copy().segments[0].source)].type = ts::element::f64;
            CHECK(ts::verify(half.view(), wrong).text.find("a copy changes the type of elements") != std::string::npos);
            ++copies;
        }
    }
    for (std::size_t i = 0; i < b.tiles.size() && names == 0; ++i) {
        if (b.tiles[i].alias >= 0) {
            ts::plan wrong = b;
            wrong.tiles[i].type = ts::element::f32;
            CHECK(ts::verify(half.view(), wrong).text.find("of another type") != std::string::npos);
            ++names;
        }
    }
    CHECK(copies == 1);
    CHECK(names == 1);
}

TEST_CASE("the reference backend in bf16 gives one device's numbers within 2e-2, under several strategies") {
    const ts::optimizer how(ts::sgd{.learning_rate = 0.05F, .momentum = 0.9F});
    const std::vector<ts::graph> networks{
        ts::describe<ts::with_precision<ts::bf16, test_networks::mlp::network>>(8), ts::describe<in_bf16>(4),
        ts::describe<ts::with_precision<ts::bf16, test_networks::transformer::network>>(4)};
    const std::vector<ts::graph> exact{ts::describe<test_networks::mlp::network>(8),
                                       ts::describe<test_networks::residual_net::network>(4),
                                       ts::describe<test_networks::transformer::network>(4)};
    double worst = 0;
    for (std::size_t k = 0; k < networks.size(); ++k) {
        const ts::graph_view g = networks[k].view();
        coverage seen;
        for (int devices = 1; devices < 5; ++devices) {
            const ts::strategy s = devices == 1 ? ts::strategy(g) : random_strategy(g, devices, 40 + k, seen);
            const comparison c = against_one_device(g, s, devices, how);
            CAPTURE(k);
            CAPTURE(devices);
            CAPTURE(c.worst);
            CHECK(c.loss <= 2e-2);
            CHECK(c.joint.at(0) <= 3e-2); // of all gradients together: those that are nothing in theory are noise
            CHECK(c.copies_equal);
            worst = std::max(worst, c.joint[0]);
        }
        // It is bf16 indeed: fp32 is further away than its own rounding.
        const batch_data data(g, 7);
        const oracle rounded(g, data, how, 1, 11);
        const oracle full(exact[k].view(), data, how, 1, 11);
        const double difference = std::abs(rounded.losses[0] - full.losses[0]) / full.losses[0];
        CHECK(difference > 1e-6);
        CHECK(difference < 2e-2);
    }
    MESSAGE("largest relative difference of all gradients together: " << worst);
}

TEST_CASE("tf32 permits and does not ask: the reference backend computes it in fp32") {
    const ts::optimizer how(ts::sgd{.learning_rate = 0.05F});
    const ts::graph a = ts::describe<in_tf32>(4);
    const comparison c = against_one_device(a.view(), ts::strategy(a.view()), 1, how);
    CHECK(c.gradient <= 1e-4);
}

namespace {

struct fc1 : ts::linear<12> {};
struct fc2 : ts::linear<4> {};
struct plain_network : ts::sequential<ts::features<6>, fc1, ts::relu, fc2, ts::cross_entropy> {};
struct fast_network : ts::with_precision<ts::bf16, plain_network> {};

} // namespace

TEST_CASE("a network type in bf16 trains and evaluates with floats from the caller, layers by their names") {
    const ts::local_devices devices(2);
    const ts::graph g = ts::describe<fast_network>(8);
    ts::strategy s(g.view());
    s.ops[0].degree[1] = 2; // channels
    ts::trainer<fast_network, ts::reference::backend> trainer(devices, s, 8,
                                                              ts::optimizer(ts::sgd{.learning_rate = 0.2F}));
    const batch_data data(g.view(), 5);
    const double first = trainer.step(std::span<const ts::input_data>(data.inputs));
    double last = first;
    for (int i = 0; i < 60; ++i) {
        last = trainer.step(std::span<const ts::input_data>(data.inputs));
    }
    CHECK(last < first * 0.7);
    CHECK(trainer.values().evaluate(data.inputs).loss == doctest::Approx(last).epsilon(0.3));
    bool finer = false; // weights are fp32: steps smaller than a bf16 number's last bit count
    for (float w : trainer.values().parameter(0)) {
        finer = finer || ts::round_to_bf16(w) != w;
    }
    CHECK(finer);
}

TEST_CASE("one operator in shards runs in bf16") {
    const ts::local_devices devices(2);
    using split = ts::split<ts::channel, 2>;
    ts::sharded_on<ts::reference::backend, fc1, split> exact(devices, ts::make_shape(5, 6));
    ts::sharded_on<ts::reference::backend, fc1, split> half(devices, ts::make_shape(5, 6), ts::precision::bf16);
    exact.forward();
    exact.backward();
    half.forward();
    half.backward();
    const auto difference = [](const std::vector<float>& a, const std::vector<float>& b) {
        return relative(std::vector<double>(a.begin(), a.end()), std::vector<double>(b.begin(), b.end()), 1e-6);
    };
    CHECK(difference(half.output(), exact.output()) < 2e-2);
    CHECK(difference(half.output(), exact.output()) > 1e-5);
    CHECK(difference(half.input_gradient(), exact.input_gradient()) < 2e-2);
    CHECK(difference(half.gradient(0), exact.gradient(0)) < 2e-2);
    for (float y : half.output()) {
        CHECK(ts::round_to_bf16(y) == y);
    }
}

TEST_CASE("the host refuses bf16 by name, and computes tf32 as fp32") {
    ts::graph g = ts::describe<plain_network>(8);
    const batch_data data(g.view(), 5);
    std::vector<double> losses;
    for (const ts::precision math : {ts::precision::fp32, ts::precision::tf32, ts::precision::bf16}) {
        ts::set_precision(g, math);
        const ts::optimizer how(ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F}, 0, 512); // the host scales losses too
        ts::host::backend backend(how);
        ts::workers threads(1);
        const auto run = [&] {
            ts::session<ts::host::backend> session(g.view(), ts::strategy(g.view()), 1, how, {}, backend, threads);
            session.step(data.inputs);
            losses.push_back(session.step(data.inputs));
        };
        if (math == ts::precision::bf16) {
            CHECK_THROWS_WITH_AS(run(), doctest::Contains("fc1 computes in bf16 and the host backend in fp32 alone"),
                                 ts::error);
        } else {
            run();
        }
    }
    REQUIRE(losses.size() == 2);
    CHECK(losses[0] == losses[1]);
    ts::set_precision(g, ts::precision::fp32);
    const oracle expected(g.view(), data, ts::optimizer(ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F}), 2, 1);
    CHECK(losses[0] == doctest::Approx(expected.losses[1]).epsilon(1e-4));
}

TEST_CASE("loss scaling by a power of two changes no bit, and saves gradients that would vanish") {
    struct fc : ts::linear<4> {};
    struct faint : ts::cross_entropy {};
    using network = ts::sequential<ts::features<8>, fc, faint>;
    ts::graph g = ts::describe<network>(4);
    const auto run = [&](const ts::optimizer& update) {
        const batch_data data(g.view(), 7);
        ts::reference::backend backend(update);
        ts::workers threads(2);
        ts::strategy s(g.view());
        s.ops[0].degree[0] = 2;
        ts::session_options options;
        options.keep_gradients = true;
        ts::session<ts::reference::backend> session(g.view(), s, 2, update, options, backend, threads);
        session.step(data.inputs);
        session.step(data.inputs);
        return std::pair{session.parameter(0), session.gradient(0)};
    };
    for (const ts::precision p : {ts::precision::fp32, ts::precision::bf16}) {
        ts::set_precision(g, p);
        const ts::sgd plain{.learning_rate = 0.1F, .momentum = 0.9F};
        CHECK(run(ts::optimizer(plain, 0, 1024)) == run(ts::optimizer(plain)));
        CHECK(run(ts::optimizer(plain, 0.01F, 1024)) == run(ts::optimizer(plain, 0.01F)));
        CHECK(run(ts::optimizer(plain, 0.01F)) != run(ts::optimizer(plain)));
    }
    // A loss of weight 1e-44: its gradient has a bit or two left in fp32. Times 2^60 it has them all, and the weights
    // move as in double.
    ts::set_precision(g, ts::precision::fp32);
    g.ops[1].attributes.weight = 1e-44;
    constexpr double rate = 1e42;
    const batch_data data(g.view(), 7);
    ts::reference::network one(g.view());
    one.initialize(1);
    const std::vector<double> start = one.parameters[0];
    one.set(0, std::span<const float>(data.numbers[0]));
    one.set(2, std::span<const std::int32_t>(data.labels[1]));
    ts::run_state state;
    state.learning_rate = rate;
    one.train_step(state, ts::sgd{});
    const auto error_of = [&](float scale) {
        const ts::optimizer how(ts::sgd{}, 0, scale);
        ts::reference::backend backend(how);
        ts::workers threads(1);
        ts::session<ts::reference::backend> session(g.view(), ts::strategy(g.view()), 1, how, {}, backend, threads);
        session.set_learning_rate(rate);
        session.step(data.inputs);
        std::vector<double> moved;
        std::vector<double> expected;
        for (std::size_t i = 0; i < start.size(); ++i) {
            moved.push_back(static_cast<double>(session.parameter(0)[i]) - start[i]);
            expected.push_back(one.parameters[0][i] - start[i]);
        }
        return relative(moved, expected, 1e-12);
    };
    CHECK(error_of(1) > 0.1);
    CHECK(error_of(1152921504606846976.0F) < 1e-3);
}
