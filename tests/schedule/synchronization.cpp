// SPDX-License-Identifier: Apache-2.0
// Every synchronization policy, alone and composed with splits and pipelines, computes what one device computes.
// TESSERA_STRATEGIES=20 runs as many strategies for every network and policy.
#include "support/planned.hpp"
#include "support/policies.hpp"
#include "support/sweep_check.hpp"

#include "tessera/schedule/parameter_average.hpp"

#include "tessera/backend/reference/backend.hpp"

#ifdef TESSERA_TEST_HOST
#include "tessera/host.hpp"
#endif

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using namespace test_support;

} // namespace

TEST_CASE("every policy gives the numbers of one device, twice the same bits") {
    coverage seen;
    const int strategies = strategy_count(1);
    const auto make = [](const ts::optimizer& update) { return ts::reference::backend(update); };
    int number = 0;
    int runs = 0;
    sweep_check check;
    for (const sweep_case& c : sweep_cases()) {
        const bool wanted = c.name == "LeNet-5" || c.name == "residual net" || c.name == "U-Net with Adam" ||
                            c.name == "Transformer block" || c.name == "MLP with clipping" || c.name == "LSTM";
        if (!wanted) {
            continue;
        }
        const ts::graph_view g = c.network.view();
        oracles expected(c);
        for (std::size_t policy = 0; policy < small_policies(g, 2).size(); ++policy) {
            for (int i = 0; i <= strategies; ++i) {
                ++number;
                if (strategy_count(0) == 0 && number % 4 != 0) {
                    continue; // a quarter of them; all where a number of strategies is said
                }
                const int batch = static_cast<int>(g.tensors[0].extents[0]);
                const int devices = i == 0 ? std::min(2 + number % 3, batch) : 1 + number % 4;
                ts::strategy s = data_parallel(g, devices);
                std::string schedule = "data parallel";
                if (i > 0) {
                    const pipeline_case p =
                        random_pipeline(g, devices, 7000 + static_cast<std::uint64_t>(number), seen);
                    s = p.how;
                    schedule = p.schedule;
                }
                const auto policies = small_policies(g, devices);
                const std::string& name = policies[policy].first;
                const ts::synchronization& value = policies[policy].second;
                s.sync = value;
                s.overlap = number % 2 == 1;
                const sweep_result r = expected.run(s, devices, make);
                ++runs;
                CAPTURE(name);
                CAPTURE(schedule);
                CAPTURE(number);
                check.hold(c, devices, r, allowed_rounding_of(c, allowed_rounding_with_adam));
            }
        }
    }
    MESSAGE(runs << " combinations of policy, network, splits and pipeline");
}

TEST_CASE("steps of one plan give the bits of steps one by one, also of averaged parameters") {
    ts::sgd plain{.learning_rate = 0.1F, .weight_decay = 0.01F};
    const ts::optimizer how(plain);
    const ts::graph network = ts::describe<test_networks::mlp::network>(4);
    const ts::graph_view g = network.view();
    const batch_data data(g, 7);
    const batch_data other(g, 8);
    const std::vector<std::vector<ts::input_data>> batches{data.inputs, other.inputs, data.inputs};
    const int devices = 3;
    ts::workers threads(devices);
    const auto trained_by = [&](auto backend, const ts::synchronization& sync, int steps_per_plan, bool overlap) {
        ts::strategy s = data_parallel(g, devices, sync);
        s.steps_per_plan = steps_per_plan;
        s.overlap = overlap;
        ts::session<decltype(backend)> session(g, s, devices, how, {}, backend, threads);
        std::vector<double> all = session.steps(batches);
        for (int p = 0; p < g.parameter_count; ++p) {
            const std::vector<float> values = session.parameter(p);
            all.insert(all.end(), values.begin(), values.end());
            const auto copies = session.parameter_copies(p);
            for (const auto& c : copies) {
                CHECK(c.second == copies[0].second);
            }
        }
        return all;
    };
    const auto trained = [&](const ts::synchronization& sync, int steps_per_plan, bool overlap) {
        return trained_by(ts::reference::backend(how), sync, steps_per_plan, overlap);
    };
    const std::vector<double> usual = trained({}, 1, false);
    CHECK(trained({}, 3, true) == usual);
    const auto difference = [&usual](const std::vector<double>& found) {
        double worst = 0;
        for (std::size_t i = 0; i < usual.size(); ++i) {
            worst = std::max(worst, std::abs(found[i] - usual[i]));
        }
        return worst;
    };
    for (const auto& policy : small_policies(g, devices)) {
        const std::string& name = policy.first;
        const ts::synchronization& sync = policy.second;
        CAPTURE(name);
        const std::vector<double> one = trained(sync, 1, false);
        CHECK(difference(one) < 1e-5);
        CHECK(trained(sync, 3, false) == one);
        CHECK(trained(sync, 2, true) == one); // two steps, then one; communication beside computation
    }
#ifdef TESSERA_TEST_HOST
    for (const auto& policy : {small_policy(g, devices, "p3"), small_policy(g, devices, "zero-3")}) {
        const std::string& name = policy.first;
        const ts::synchronization& sync = policy.second;
        CAPTURE(name);
        const std::vector<double> one = trained_by(ts::host::backend(how), sync, 1, false);
        CHECK(difference(one) < 1e-4);
        CHECK(trained_by(ts::host::backend(how), sync, 3, true) == one);
    }
#endif
    const std::vector<double> averaged = trained(ts::schedule::parameter_average(1), 1, false);
    CHECK(difference(averaged) < 1e-5);
    CHECK(trained(ts::schedule::parameter_average(1), 3, true) == averaged);
    // Averaged less often it is an asynchronous variant, with other numbers; the copies are equal after the third step.
    const std::vector<double> seldom = trained(ts::schedule::parameter_average(3), 3, false);
    CHECK(difference(seldom) > 1e-7);
}
