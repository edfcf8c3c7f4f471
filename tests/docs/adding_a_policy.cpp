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
        s.messages.back().pieces.push_back({x.parameter, 0, 1}); // slice 0 of 1: all of it
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
// clang-format on

#include <tessera/backend/reference/backend.hpp>
#include <tessera/execute/trainer.hpp>
#include <tessera/machine/presets.hpp>
#include <tessera/search/fit.hpp>

#include <doctest/doctest.h>

namespace {

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<8> {};
struct network : ts::sequential<ts::features<6>, fc1, ts::relu, fc2, ts::cross_entropy> {};

struct samples {
    std::vector<float> inputs;
    std::vector<std::int32_t> labels;
    int size = 16;

    samples() {
        for (int i = 0; i < size * 6; ++i) {
            inputs.push_back(static_cast<float>(i % 7) / 7.0F - 0.5F);
        }
        for (int i = 0; i < size; ++i) {
            labels.push_back(i % 8);
        }
    }
};

} // namespace

TEST_CASE("training under the policy of the page") {
    const samples batch;
    const ts::graph g = ts::describe<network>(16);
    // clang-format off
    ts::strategy s = ts::search::data_parallel(g.view(), 2);
    s.sync = layer_by_layer(ts::schedule::gradients_of(g.view()));
    CHECK(s.sync.messages.size() == 2);           // fc2's weight and bias, then fc1's
    CHECK(s.sync.messages[0].pieces.size() == 2);
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
    const ts::cluster two(ts::machines::p100_nodes(1, 2));
    how.schedules.clear();
    how.micro_batches = {1};
    how.simulations = 1000;
    const auto of_the_page = [](const ts::search::fit_result& r) {
        std::size_t n = 0;
        for (const ts::search::fit_row& x : r.rows) {
            n += x.refused.empty() && x.how.policy == &layer_by_layer_record ? 1 : 0;
        }
        return n;
    };
    CHECK(of_the_page(ts::search::fit(g.view(), two, how)) > 0);
    how.policies.pop_back();
    CHECK(of_the_page(ts::search::fit(g.view(), two, how)) == 0);
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
