// SPDX-License-Identifier: Apache-2.0
// Every optimizer as CUDA's kernels, run on the processor: under random strategies and all synchronization policies the
// numbers of one device.
#include "support/cuda_instances.hpp"
#include "support/cuda_lists.hpp"
#include "support/own_optimizers.hpp"
#include "support/planned.hpp"
#include "support/policies.hpp"
#include "support/sweep_check.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/pruning.hpp"

extern template class tessera::session<tessera::reference::backend>; // in support/instances_reference.cpp

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

namespace {

namespace ts = tessera;
using namespace test_support;

} // namespace

TEST_CASE("every optimizer gives the numbers of one device as calls, under random strategies and every policy") {
    constexpr int devices = 3;
    int number = 0;
    int on_host = 0;
    auto all = all_optimizers();
    for (const auto& x : layerwise_optimizers()) {
        all.push_back(x);
    }
    for (const auto& of_name : all) {
        const auto& name = of_name.first; // clang 14 captures no structured binding
        const auto& how = of_name.second;
        sweep_case c{name, ts::describe<test_networks::mlp::network>(6), how};
        c.how.clip_norm = number % 2 == 0 ? 0.05F : 0.0F;
        sweep_check check;
        coverage seen;
        int runs = 0;
        auto make = [&](const ts::optimizer& o) { return emulated_backend(o, gpu_placement(8, runs++ / 2 % 3)); };
        sweep(
            c, strategy_count(4), seen, make,
            [&](const sweep_case& of, int, int count, const sweep_result& r) {
                check.hold(of, count, r, allowed_rounding_with_adam);
            },
            first_of(number++));
        oracles expected(c);
        for (const auto& of_policy : small_policies(c.network.view(), devices)) {
            const auto& policy = of_policy.first; // clang 14 captures no structured binding
            const auto& sync = of_policy.second;
            CAPTURE(policy);
            ts::strategy s = data_parallel(c.network.view(), devices, sync);
            s.state_on_host = how.state_count() > 0 && runs / 2 % 2 == 0;
            on_host += s.state_on_host ? 1 : 0;
            check.hold(c, devices, expected.run(s, devices, make), allowed_rounding_with_adam);
        }
        check.tell(c, strategy_count(4), "strategies");
    }
    CHECK(on_host > 20);
}

TEST_CASE("LARS and LAMB give the numbers of one device as calls where layers are tied and shards overlap") {
    for (const auto& of_name : layerwise_optimizers()) {
        if (of_name.second.weight_decay == 0 || of_name.second.clip_value > 0) {
            continue; // the bias of keys has no gradient but rounding, which LARS makes as large as any without a decay
        }
        const auto& name = of_name.first; // clang 14 captures no structured binding
        const auto& how = of_name.second;
        const sweep_case c{name, ts::describe<test_networks::transformer::network>(4), how};
        sweep_check check;
        coverage seen;
        int runs = 0;
        auto make = [&](const ts::optimizer& o) { return emulated_backend(o, gpu_placement(8, runs++ / 2 % 3)); };
        sweep(c, strategy_count(2), seen, make, [&](const sweep_case& of, int, int count, const sweep_result& r) {
            check.hold(of, count, r, allowed_rounding_with_adam);
        });
        check.tell(c, strategy_count(2), "strategies");
    }
}

TEST_CASE("what is pruned stays -0 as calls, under every optimizer, and all else is what the reference makes of it") {
    auto all = all_optimizers();
    for (const auto& x : layerwise_optimizers()) {
        all.push_back(x);
    }
    const ts::graph network = ts::describe<test_networks::mlp::network>(6);
    const ts::graph_view g = network.view();
    const batch_data data(g, 3);
    int number = 0;
    for (const auto& of_name : all) {
        const auto& name = of_name.first;
        CAPTURE(name);
        const ts::optimizer how = of_name.second.pruning();
        const ts::strategy s = data_parallel(g, 2);
        ts::workers threads(2);
        auto calls = emulated_backend(how, gpu_placement(8, number++ % 3));
        ts::reference::backend loops(how);
        ts::session<decltype(calls)> by_calls(g, s, 2, how, {}, calls, threads);
        ts::session<ts::reference::backend> by_loops(g, s, 2, how, {}, loops, threads);
        for (int step = 0; step < 4; ++step) {
            for (int p = 0; p < g.parameter_count && step > 0; ++p) {
                if (ts::is_prunable(g.parameters[p])) {
                    by_loops.set_parameter(p, by_calls.parameter(p)); // so that no near tie goes another way
                    ts::prune(by_calls, p, 0.25 * step);
                    ts::prune(by_loops, p, 0.25 * step);
                }
            }
            by_calls.step(data.inputs);
            by_loops.step(data.inputs);
        }
        for (int p = 0; p < g.parameter_count; ++p) {
            const std::vector<float> a = by_calls.parameter(p);
            const std::vector<float> b = by_loops.parameter(p);
            std::ptrdiff_t pruned = 0;
            for (std::size_t i = 0; i < a.size(); ++i) {
                CHECK(ts::is_pruned(a[i]) == ts::is_pruned(b[i]));
                CHECK(static_cast<double>(a[i]) == doctest::Approx(static_cast<double>(b[i])).epsilon(1e-3).scale(0.1));
                pruned += ts::is_pruned(a[i]) ? 1 : 0;
            }
            const auto wanted = static_cast<std::ptrdiff_t>(0.75 * static_cast<double>(a.size()));
            CHECK(pruned == (ts::is_prunable(g.parameters[p]) ? wanted : 0));
        }
    }
}

TEST_CASE("as calls, too, no step makes a pruned weight, not where it is too small for a number") {
    const ts::graph network = ts::describe<test_networks::mlp::network>(6);
    const ts::graph_view g = network.view();
    batch_data data(g, 3);
    for (auto& of_input : data.numbers) {
        std::fill(of_input.begin(), of_input.end(), 0.0F); // the first weights have no gradient
    }
    const ts::optimizer how = ts::optimizer(ts::adamw{.learning_rate = 1, .weight_decay = 0.75F}).pruning();
    ts::workers threads(1);
    auto calls = emulated_backend(how, gpu_placement(8, 0));
    ts::session<decltype(calls)> by_calls(g, ts::strategy(g), 1, how, {}, calls, threads);
    int first = 0;
    while (!ts::is_prunable(g.parameters[first])) {
        ++first;
    }
    const std::vector<float> smallest(by_calls.parameter(first).size(), -std::numeric_limits<float>::denorm_min());
    by_calls.set_parameter(first, smallest);
    by_calls.step(data.inputs);
    for (const float w : by_calls.parameter(first)) {
        CHECK(w == 0);
        CHECK_FALSE(ts::is_pruned(w));
    }
}
