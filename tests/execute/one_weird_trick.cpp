// SPDX-License-Identifier: Apache-2.0
// The oldest hybrid: convolutions by samples on both devices, fully connected layers whole on one of them (Krizhevsky's
// "one weird trick" at its simplest, and OptCNN's first example), against one device over 20 steps.
#include "support/planned.hpp"
#include "support/sweep_check.hpp"

#include "tessera/backend/reference/backend.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using namespace test_support;

struct conv1 : ts::conv2d<6, ts::window<3>, ts::padding<1>> {};
struct conv2 : ts::conv2d<8, ts::window<3>> {};
struct fc1 : ts::linear<24> {};
struct fc2 : ts::linear<5> {};
struct small_cnn
    : ts::sequential<ts::image<2, 10, 10>, conv1, ts::relu, ts::max_pool<2>, ts::channel_dropout<25>, conv2, ts::relu,
                     ts::dropout<20>, ts::flatten, fc1, ts::relu, ts::dropout<40>, fc2, ts::cross_entropy> {};
struct without_dropout : ts::sequential<ts::image<2, 10, 10>, conv1, ts::relu, ts::max_pool<2>, conv2, ts::relu,
                                        ts::flatten, fc1, ts::relu, fc2, ts::cross_entropy> {};

constexpr int steps = 20;
constexpr std::uint64_t seed = 11;

/// Whatever comes before the first fully connected layer by samples on two devices, the rest on device `alone`.
ts::strategy on_two(const ts::graph_view& g, int alone) {
    ts::strategy s = data_parallel(g, 2);
    bool convolutional = true;
    for (int op = 0; op < g.op_count; ++op) {
        convolutional = convolutional && g.ops[op].attributes.kind != ts::op_kind::linear;
        if (!convolutional) {
            s.ops[ts::to_size(op)] = ts::configuration{};
            s.place(op, {alone});
        }
    }
    return s;
}

} // namespace

TEST_CASE("convolutions on both devices, fully connected layers on one: the numbers of one device for 20 steps") {
    const ts::optimizer how(ts::sgd{.learning_rate = 0.05F, .momentum = 0.9F, .weight_decay = 0.01F});
    const sweep_case c{"small CNN", ts::describe<small_cnn>(8), how};
    const ts::graph_view g = c.network.view();
    const batch_data data(g, 7);
    const oracle one(g, data, how, steps, seed);
    auto make = [](const ts::optimizer& rule) { return ts::reference::backend(rule); };
    sweep_check check;
    for (const int alone : {0, 1}) {
        const ts::strategy s = on_two(g, alone);
        const ts::plan p = planned(g, s, 2);
        int both = 0;
        for (const ts::task& t : p.tasks) { // what the name says is what the plan does
            if (t.kind() == ts::task_kind::compute) {
                const ts::op_kind kind = g.ops[t.op].attributes.kind;
                both += kind == ts::op_kind::conv2d && t.device != alone ? 1 : 0;
                CHECK((kind != ts::op_kind::linear || t.device == alone));
            }
        }
        CHECK(both >= 5); // two forward, two for weights, one for the inner input
        const sweep_result r = run_strategy(c, s, 2, data, one, seed, make);
        CHECK(r.seen.losses.size() == steps);
        check.hold(c, 2, r, allowed_rounding);
    }
    check.tell(c, 2, "plans");
    // The masks matter, and change from step to step.
    const ts::graph plain = ts::describe<without_dropout>(8);
    const oracle other(plain.view(), batch_data(plain.view(), 7), how, steps, seed);
    double apart = 0;
    for (std::size_t i = 0; i < one.losses.size(); ++i) {
        apart = std::max(apart, std::abs(other.losses[i] - one.losses[i]));
    }
    CHECK(apart > 0.05);
}
