// SPDX-License-Identifier: Apache-2.0
// Evaluations (running statistics, no dropout) and batches that leave shards without samples, as lists of calls.
#include "support/cuda_instances.hpp"
#include "support/cuda_lists.hpp"
#include "support/networks.hpp"
#include "support/same_numbers.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using namespace test_support;

} // namespace

TEST_CASE("short batches train and evaluations evaluate as one device does, on one GPU and on several") {
    const ts::optimizer how(ts::sgd{.learning_rate = 0.05F});
    coverage seen;
    const std::vector<std::pair<ts::graph, int>> networks{{ts::describe<test_networks::residual_net::network>(6), 6},
                                                          {ts::describe<test_networks::inception::network>(5), 5},
                                                          {ts::describe<test_networks::mlp::network>(7), 7},
                                                          {ts::describe<test_networks::two_losses::network>(6), 6}};
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const auto& [network, batch] = networks[seed % networks.size()];
        const int devices = 1 + static_cast<int>(seed / 2 % 5);
        const ts::strategy s = random_strategy(network.view(), devices, 500 + seed, seen);
        for (const int size : {batch, 1, batch - 2}) {
            CAPTURE(seed);
            CAPTURE(size);
            const ts::graph g = ts::with_batch(network.view(), size);
            const batch_data data(g.view(), 40 + seed);
            emulated_backend backend(how, gpu_placement(devices, static_cast<int>(seed % 3)));
            ts::workers threads(devices);
            ts::session<emulated_backend> session(network.view(), s, devices, how, {.seed = 3}, backend, threads);
            ts::reference::network oracle(g.view());
            oracle.initialize(3);
            ts::run_state run;
            run.seed = 3;
            run.learning_rate = static_cast<double>(how.learning_rate);
            for (int i = 0; i < 2; ++i) {
                set_all(oracle, data);
                run.step = static_cast<std::uint64_t>(i);
                const double expected = oracle.train_step(run, how);
                CHECK(session.step(data.inputs) == doctest::Approx(expected).epsilon(1e-5));
                set_all(oracle, data);
                const double loss = oracle.evaluate();
                CHECK(session.evaluate(data.inputs).loss == doctest::Approx(loss).epsilon(1e-5));
            }
            for (std::size_t p = 0; p < oracle.parameters.size(); ++p) {
                const std::vector<float> f = session.parameter(static_cast<int>(p));
                CHECK(relative(std::vector<double>(f.begin(), f.end()), oracle.parameters[p], 1e-3) < 1e-4);
            }
        }
    }
}
