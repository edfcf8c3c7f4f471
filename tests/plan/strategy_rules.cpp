// SPDX-License-Identifier: Apache-2.0
// Strategies that come at run time are refused by the same rules, in the same words, as those that the compiler refuses
// (tests/compile_fail); and a typed strategy is the value that one would write by hand.
#include "support/refusal.hpp"
#include "tessera/strategy/typed_strategy.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

namespace ts = tessera;
using test_support::text_of_rule;
using ts::loop_name;
using ts::rule;

struct conv1 : ts::conv2d<10, ts::window<5>> {};
struct norm1 : ts::batch_norm<> {};
struct fc1 : ts::linear<10> {};
struct drop1 : ts::dropout<20> {};
struct act2 : ts::relu {};
struct network : ts::sequential<ts::image<1, 12, 12>, conv1, norm1, ts::relu, ts::average_pool<2>, ts::flatten, fc1,
                                drop1, act2, ts::cross_entropy> {};
namespace twice {
struct network : ts::sequential<ts::features<4>, ts::relu, ts::tanh, ts::relu, ts::cross_entropy> {};
} // namespace twice
constexpr ts::index_t batch = 64;
enum op : int { at_conv, at_norm, at_relu, at_pool, at_flatten, at_fc, at_drop, at_act, at_loss };

/// A strategy in the making: loops by their names.
struct writer {
    const ts::graph_view& g;
    ts::strategy s;

    int loop(int op, loop_name name) const { return g.describe(op).find_loop(name); }
    ts::configuration& at(int op) { return s.ops[ts::to_size(op)]; }
    writer& split(int op, loop_name name, int degree) {
        at(op).degree[loop(op, name)] = degree;
        return *this;
    }
    writer& cut(int op, loop_name name, const std::vector<ts::index_t>& where) {
        s.cut(op, loop(op, name), where);
        return *this;
    }
    writer& place(int op, const std::vector<int>& devices) {
        s.place(op, devices);
        return *this;
    }
    writer& start(int op, int first, int stride) {
        at(op).start = first;
        at(op).stride = stride;
        return *this;
    }
};

/// What a strategy is told: the words of an exception, or "accepted".
template <class Write>
std::string verdict(int devices, Write write) {
    const ts::graph g = ts::describe<network>(batch);
    const ts::graph_view v = g.view();
    writer w{v, ts::strategy(v)};
    write(w);
    return test_support::message_of([&] { ts::require(v, w.s.view(), devices); });
}

/// A strategy that breaks a rule, and its smallest correction.
struct row {
    rule broken;
    const char* layer;
    const char* along;
    ts::index_t found;
    ts::index_t needed;
    int devices;
    void (*wrong)(writer&);
    void (*right)(writer&);
};

constexpr int huge = 2147483647;

const row rows[] = {
    {rule::degree_does_not_divide, "conv1", "sample", 3, 64, 4,
     [](writer& w) { w.split(at_conv, loop_name::sample, 3); },
     [](writer& w) { w.split(at_conv, loop_name::sample, 3).at(at_conv).uneven = true; }},
    {rule::degree_does_not_divide, "fc1", "channel", 4, 10, 4, [](writer& w) { w.split(at_fc, loop_name::channel, 4); },
     [](writer& w) { w.split(at_fc, loop_name::channel, 2); }},
    {rule::degree_does_not_divide, "conv1", "channel", 3, 10, 6, // the cuts of one dimension do not excuse another
     [](writer& w) { w.cut(at_conv, loop_name::sample, {7}).split(at_conv, loop_name::channel, 3); },
     [](writer& w) { w.cut(at_conv, loop_name::sample, {7}).split(at_conv, loop_name::channel, 2); }},
    {rule::degree_exceeds_extent, "conv1", "height", 9, 8, 16,
     [](writer& w) { w.split(at_conv, loop_name::height, 9).at(at_conv).uneven = true; },
     [](writer& w) { w.split(at_conv, loop_name::height, 8); }},
    {rule::degree_is_zero, "conv1", "sample", 0, 1, 2, [](writer& w) { w.split(at_conv, loop_name::sample, 0); },
     [](writer& w) { w.split(at_conv, loop_name::sample, 1); }},
    {rule::degree_is_zero, "fc1", "reduction", -2, 1, 2, [](writer& w) { w.split(at_fc, loop_name::reduction, -2); },
     [](writer& w) { w.split(at_fc, loop_name::reduction, 2); }},
    {rule::degree_is_zero, "fc1", "", -3, 1, 2, [](writer& w) { w.at(at_fc).replicate = -3; },
     [](writer& w) { w.at(at_fc).replicate = 2; }},
    {rule::degree_is_zero, "fc1", "", 0, 1, 2, [](writer& w) { w.at(at_fc).partial = 0; },
     [](writer& w) { w.at(at_fc).partial = 1; }},
    {rule::no_such_loop, "fc1", "", 3, 3, 2, [](writer& w) { w.at(at_fc).degree[3] = 2; },
     [](writer& w) { w.at(at_fc).degree[2] = 2; }},
    {rule::loop_not_splittable, "flatten", "height", 2, 1, 2,
     [](writer& w) { w.split(at_flatten, loop_name::height, 2); },
     [](writer& w) { w.split(at_flatten, loop_name::channel, 2); }},
    {rule::loop_not_splittable, "conv1", "window_width", 5, 1, 5,
     [](writer& w) { w.split(at_conv, loop_name::window_width, 5); },
     [](writer& w) { w.split(at_conv, loop_name::channel, 5); }},
    {rule::coupled_split_without_reduction, "norm1", "sample", 2, 1, 2,
     [](writer& w) { w.split(at_norm, loop_name::sample, 2); },
     [](writer& w) { w.split(at_norm, loop_name::sample, 2).at(at_norm).reduces = true; }},
    {rule::coupled_split_without_reduction, "cross_entropy", "channel", 2, 1, 2,
     [](writer& w) { w.split(at_loss, loop_name::channel, 2); },
     [](writer& w) { w.split(at_loss, loop_name::sample, 2); }},
    {rule::cuts_are_wrong, "conv1", "sample", 16, 64, 3,
     [](writer& w) {
         w.cut(at_conv, loop_name::sample, {32, 16});
     },
     [](writer& w) {
         w.cut(at_conv, loop_name::sample, {16, 32});
     }},
    {rule::cuts_are_wrong, "conv1", "sample", 64, 64, 2, [](writer& w) { w.cut(at_conv, loop_name::sample, {64}); },
     [](writer& w) { w.cut(at_conv, loop_name::sample, {63}); }},
    {rule::cuts_are_wrong, "conv1", "sample", 0, 64, 2, [](writer& w) { w.cut(at_conv, loop_name::sample, {0}); },
     [](writer& w) { w.cut(at_conv, loop_name::sample, {1}); }},
    {rule::cuts_are_wrong, "conv1", "sample", -1, 64, 4, // the pool ends before the cuts do
     [](writer& w) {
         w.cut(at_conv, loop_name::sample, {16, 32}).split(at_conv, loop_name::sample, 4);
     },
     [](writer& w) {
         w.cut(at_conv, loop_name::sample, {16, 32, 33});
     }},
    {rule::more_shards_than_devices, "conv1", "", 4, 2, 2,
     [](writer& w) { w.split(at_conv, loop_name::sample, 2).split(at_conv, loop_name::height, 2); },
     [](writer& w) {
         w.split(at_conv, loop_name::sample, 2).split(at_conv, loop_name::height, 2).place(at_conv, {0, 1, 1, 0});
     }},
    {rule::more_shards_than_devices, "fc1", "", 640LL * huge, 4, 4,
     [](writer& w) {
         w.split(at_fc, loop_name::sample, 64).split(at_fc, loop_name::channel, 10).at(at_fc).replicate = huge;
     },
     [](writer& w) { w.split(at_fc, loop_name::sample, 2).split(at_fc, loop_name::channel, 2); }},
    {rule::device_does_not_exist, "conv1", "", 2, 2, 2,
     [](writer& w) {
         w.split(at_conv, loop_name::sample, 2).place(at_conv, {0, 2});
     },
     [](writer& w) {
         w.split(at_conv, loop_name::sample, 2).place(at_conv, {0, 1});
     }},
    {rule::device_does_not_exist, "conv1", "", -1, 2, 2,
     [](writer& w) {
         w.split(at_conv, loop_name::sample, 2).place(at_conv, {-1, 0});
     },
     [](writer& w) {
         w.split(at_conv, loop_name::sample, 2).place(at_conv, {1, 0});
     }},
    {rule::device_does_not_exist, "conv1", "", 4, 4, 4,
     [](writer& w) { w.split(at_conv, loop_name::sample, 2).start(at_conv, 1, 3); },
     [](writer& w) { w.split(at_conv, loop_name::sample, 2).start(at_conv, 1, 2); }},
    {rule::device_does_not_exist, "fc1", "", -1, 2, 2, [](writer& w) { w.start(at_fc, -1, 1); },
     [](writer& w) { w.start(at_fc, 1, -1); }},
    {rule::device_does_not_exist, "conv1", "", 3LL * huge, 8, 8,
     [](writer& w) { w.split(at_conv, loop_name::sample, 4).start(at_conv, 0, huge); },
     [](writer& w) { w.split(at_conv, loop_name::sample, 4).start(at_conv, 0, 2); }},
    {rule::placement_has_wrong_size, "conv1", "", 1, 2, 2,
     [](writer& w) { w.split(at_conv, loop_name::sample, 2).place(at_conv, {1}); },
     [](writer& w) {
         w.split(at_conv, loop_name::sample, 2).place(at_conv, {1, 0});
     }},
    {rule::partial_into_nonlinear, "act2", "", 2, 1, 2,
     [](writer& w) {
         w.split(at_fc, loop_name::reduction, 2).at(at_drop).partial = 2;
         w.at(at_act).partial = 2;
     },
     [](writer& w) {
         w.split(at_fc, loop_name::reduction, 2).at(at_drop).partial = 2;
         w.split(at_act, loop_name::sample, 2);
     }},
    {rule::partial_without_reduction, "drop1", "", 2, 1, 2,
     [](writer& w) { w.split(at_fc, loop_name::sample, 2).at(at_drop).partial = 2; },
     [](writer& w) { w.split(at_fc, loop_name::reduction, 2).at(at_drop).partial = 2; }},
    {rule::partial_degrees_differ, "drop1", "", 2, 4, 4,
     [](writer& w) { w.split(at_fc, loop_name::reduction, 4).at(at_drop).partial = 2; },
     [](writer& w) { w.split(at_fc, loop_name::reduction, 4).at(at_drop).partial = 4; }},
    {rule::strategy_has_wrong_size, "(the network itself)", "", 8, 9, 2, [](writer& w) { w.s.ops.resize(8); },
     [](writer& w) { w.s.ops.resize(9); }},
};

} // namespace

TEST_CASE("a strategy that breaks a rule is refused with the rule's words, the layer, the dimension and the numbers") {
    for (const row& r : rows) {
        CAPTURE(ts::to_text(r.broken));
        CHECK(verdict(r.devices, r.wrong) == text_of_rule(r.broken, r.layer, r.along, r.found, r.needed));
        CHECK(verdict(r.devices, r.right) == "accepted");
    }
}

TEST_CASE("a machine needs a device") {
    const auto nothing = [](writer&) {};
    CHECK(verdict(0, nothing) == text_of_rule(rule::machine_has_no_devices, "(the network itself)", "", 0, 1));
    CHECK(verdict(-1, nothing) == text_of_rule(rule::machine_has_no_devices, "(the network itself)", "", -1, 1));
    CHECK(verdict(1, nothing) == "accepted");
}

TEST_CASE("a strategy may not fit another batch") {
    const ts::graph of64 = ts::describe<network>(64);
    ts::strategy s(of64.view());
    s.ops[at_conv].degree[0] = 4;
    CHECK_NOTHROW(ts::require(of64.view(), s.view(), 4));
    const ts::graph of2 = ts::describe<network>(2);
    CHECK_THROWS_WITH_AS(ts::require(of2.view(), s.view(), 4),
                         text_of_rule(rule::degree_exceeds_extent, "conv1", "sample", 4, 2).c_str(), ts::error);
    const ts::graph of6 = ts::describe<network>(6);
    CHECK_THROWS_WITH_AS(ts::require(of6.view(), s.view(), 4),
                         text_of_rule(rule::degree_does_not_divide, "conv1", "sample", 4, 6).c_str(), ts::error);
}

TEST_CASE("the first operator that breaks a rule is the one that is named") {
    const auto two_mistakes = [](writer& w) {
        w.split(at_fc, loop_name::channel, 3);
        w.split(at_norm, loop_name::channel, 3);
    };
    CHECK(verdict(4, two_mistakes) == text_of_rule(rule::degree_does_not_divide, "norm1", "channel", 3, 10));
}

namespace {

using typed = ts::strategy_of<
    network, 4, batch, ts::on<conv1, ts::split<ts::sample, 2>, ts::split<ts::height, 2>, ts::place<3, 1, 0, 2>>,
    ts::on<norm1, ts::cut<ts::sample, 10, 30>, ts::with_reduction, ts::from_device<1>>,
    ts::on<ts::instance<ts::relu, 0>, ts::split<ts::channel, 3>, ts::uneven, ts::from_device<3, -1>>,
    ts::on<fc1, ts::split<ts::reduction, 2>, ts::split<ts::sample, 2>, ts::gradient_of<2>>,
    ts::on<drop1, ts::partial<2>, ts::replicate<2>>, ts::on<ts::cross_entropy, ts::split<ts::sample, 4>, ts::gathered>>;

} // namespace

TEST_CASE("a typed strategy is the value that one would write by hand") {
    const ts::graph g = ts::describe<network>(batch);
    const ts::graph_view v = g.view();
    writer w{v, ts::strategy(v)};
    w.split(at_conv, loop_name::sample, 2).split(at_conv, loop_name::height, 2).place(at_conv, {3, 1, 0, 2});
    w.cut(at_norm, loop_name::sample, {10, 30}).start(at_norm, 1, 1).at(at_norm).reduces = true;
    w.split(at_relu, loop_name::channel, 3).start(at_relu, 3, -1).at(at_relu).uneven = true;
    w.split(at_fc, loop_name::reduction, 2).split(at_fc, loop_name::sample, 2);
    w.at(at_drop).partial = 2;
    w.at(at_drop).replicate = 2;
    w.split(at_loss, loop_name::sample, 4);

    const ts::strategy found(typed::view());
    REQUIRE(found.ops.size() == w.s.ops.size());
    for (std::size_t i = 0; i < found.ops.size(); ++i) {
        CAPTURE(v.ops[i].name);
        CHECK((found.ops[i] == w.s.ops[i]));
    }
    CHECK(found.pool == w.s.pool);
    CHECK_NOTHROW(ts::require(v, found.view(), typed::devices));
    // The same value is refused on fewer devices than it was checked for.
    CHECK_THROWS_AS(ts::require(v, found.view(), typed::devices - 1), ts::error);
}

TEST_CASE("an on<> without an instance configures every one") {
    using every = ts::strategy_of<twice::network, 2, 8, ts::on<ts::relu, ts::split<ts::sample, 2>, ts::place<1, 0>>>;
    using last = ts::strategy_of<twice::network, 2, 8, ts::on<ts::instance<ts::relu, 1>, ts::split<ts::sample, 2>>>;
    const ts::strategy all(every::view());
    CHECK(all.ops[0].degree[0] == 2);
    CHECK(all.ops[1].degree[0] == 1);
    CHECK(all.ops[2].degree[0] == 2);
    const ts::strategy one(last::view());
    CHECK(one.ops[0].degree[0] == 1);
    CHECK(one.ops[2].degree[0] == 2);
    const ts::graph g = ts::describe<twice::network>(8);
    for (int op : {0, 2}) {
        const ts::configuration& c = all.ops[ts::to_size(op)];
        CHECK(ts::shard_at(c, all.pool.data(), g.view().describe(op), 0).device == 1);
        CHECK(ts::shard_at(c, all.pool.data(), g.view().describe(op), 1).device == 0);
    }
}
