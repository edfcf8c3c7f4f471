// SPDX-License-Identifier: Apache-2.0
// docs/adding_a_policy.md, word for word: the policy, what it makes of a network, and training under it.
// clang-format off
#include <tessera/schedule/policy_record.hpp>

namespace ts = tessera;

/// The gradients of each layer together, all-reduced as soon as the last of them is ready.
inline ts::synchronization layer_by_layer(const std::vector<ts::schedule::ready_gradient>& gradients) {
    ts::synchronization s;
    int layer = -1;
    for (const ts::schedule::ready_gradient& x : gradients) {
        if (x.layer != layer) {
            s.messages.push_back({ts::exchange::all_reduce, 0, {}});
            layer = x.layer;
        }
        s.messages.back().slices.push_back({x.parameter, 0, 1}); // slice 0 of 1: all of it
    }
    return s;
}

/// Its row: names, a line for lists, and the function.
inline constexpr ts::schedule::policy_record layer_by_layer_record{
    .name = "layer-by-layer",
    .title = "layer by layer",
    .about = "the gradients of each layer together",
    .make = [](const ts::schedule::policy_setting& x) { return layer_by_layer(x.gradients); },
};
#include <tessera/schedule/typed_synchronization.hpp>

/// In a strategy that is a type: synchronize<by_layers>.
struct by_layers {
    static constexpr ts::problem check() { return {}; } // no setting that could break a rule
    static constexpr ts::sync_modes modes() { return {.has_messages = true}; } // of what make() returns
    static ts::synchronization make(const std::vector<ts::schedule::ready_gradient>& gradients,
                                    const ts::schedule::worker_speed&) {
        return layer_by_layer(gradients);
    }
};
// clang-format on

#include "docs/small_network.hpp"

#include <tessera/backend/reference/backend.hpp>
#include <tessera/execute/trainer.hpp>
#include <tessera/strategy/typed_strategy.hpp>

#include <doctest/doctest.h>

using docs_support::network;
using docs_support::samples;

TEST_CASE("training under the policy of the page") {
    const samples batch;
    const ts::graph g = ts::describe<network>(16);
    // clang-format off
    ts::strategy s = ts::search::data_parallel(g.view(), 2);
    s.sync = layer_by_layer(ts::schedule::gradients_of(g.view()));
    CHECK(s.sync.messages.size() == 2);           // fc2's weight and bias, then fc1's
    CHECK(s.sync.messages[0].slices.size() == 2);
    // clang-format on
    // clang-format off
    ts::trainer<network, ts::reference::backend> together(ts::local_devices(2), s, 16, ts::sgd{.learning_rate = 0.1F});
    ts::trainer<network, ts::reference::backend> alone(
        ts::local_devices(1), ts::search::single_device(g.view()), 16, ts::sgd{.learning_rate = 0.1F});
    for (int step = 0; step < 5; ++step) {
        CHECK(together.step(batch) == doctest::Approx(alone.step(batch)).epsilon(1e-5));
    }
    // clang-format on
}

TEST_CASE("the policy of the page is chosen by its name, and fit() tries it") {
    const ts::graph g = ts::describe<network>(16);
    // clang-format off
    ts::search::fit_options how;
    how.policies.push_back(&layer_by_layer_record);
    const auto& row = ts::find_record(ts::record_list(how.policies), "layer-by-layer", "policy");
    const ts::synchronization by_name = ts::schedule::make(row, {ts::schedule::gradients_of(g.view())});
    // clang-format on
    CHECK(by_name == layer_by_layer(ts::schedule::gradients_of(g.view())));
    how.schedules.clear();
    how.micro_batches = {1};
    const auto of_the_page = [](const ts::search::fit_row& x) { return x.how.policy == &layer_by_layer_record; };
    CHECK(docs_support::fits(g, how, of_the_page));
    how.policies.pop_back();
    CHECK(!docs_support::fits(g, how, of_the_page));
}

TEST_CASE("a policy that forgets a gradient is refused") {
    const ts::graph g = ts::describe<network>(16);
    ts::strategy s = ts::search::data_parallel(g.view(), 2);
    // clang-format off
    s.sync = layer_by_layer(ts::schedule::gradients_of(g.view()));
    s.sync.messages.pop_back(); // fc1's
    CHECK_THROWS_AS((ts::trainer<network, ts::reference::backend>(ts::local_devices(2), s, 16, ts::sgd{})), ts::error);
    // clang-format on
}

TEST_CASE("training under the type of the page") {
    const samples batch;
    const ts::graph g = ts::describe<network>(16);
    // clang-format off
    using typed = ts::strategy_of<network, 2, 16, ts::others<ts::split<ts::sample, 2>>, ts::synchronize<by_layers>>;
    static_assert(typed::ok);
    const ts::strategy value(typed::view());
    CHECK(value.sync == layer_by_layer(ts::schedule::gradients_of(g.view())));
    CHECK(by_layers::modes() == ts::modes_of(value.sync));
    ts::trainer<network, ts::reference::backend> together(ts::local_devices(2), typed{}, ts::sgd{.learning_rate = 0.1F});
    // clang-format on
    ts::trainer<network, ts::reference::backend> alone(ts::local_devices(1), ts::search::single_device(g.view()), 16,
                                                       ts::sgd{.learning_rate = 0.1F});
    for (int step = 0; step < 5; ++step) {
        CHECK(together.step(batch) == doctest::Approx(alone.step(batch)).epsilon(1e-5));
    }
}
