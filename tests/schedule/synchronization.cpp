// SPDX-License-Identifier: Apache-2.0
// Every synchronization policy, alone and composed with splits and pipelines, computes what one device computes. TESSERA_STRATEGIES=20 runs as many
// strategies for every network and policy.
#include "support/pipeline_sweep.hpp"
#include "support/policies.hpp"

#include "tessera/backend/reference/backend.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using namespace test_support;

/// Every operator split by samples over all devices.
ts::strategy data_parallel(const ts::graph_view& g, int devices) {
    ts::strategy s(g);
    for (int op = 0; op < g.op_count; ++op) {
        s.ops[static_cast<std::size_t>(op)].degree[0] = devices;
        s.ops[static_cast<std::size_t>(op)].uneven = s.ops[static_cast<std::size_t>(op)].reduces = true;
    }
    return s;
}

} // namespace

TEST_CASE("every policy gives the numbers of one device, twice the same bits") {
    coverage seen;
    const int strategies = strategy_count(1);
    const auto make = [](const ts::optimizer& how) { return ts::reference::backend(how); };
    int number = 0;
    int runs = 0;
    for (const sweep_case& c : sweep_cases()) {
        const bool wanted = c.name == "LeNet-5" || c.name == "residual net" || c.name == "U-Net with Adam" ||
                            c.name == "Transformer block" || c.name == "MLP with clipping" || c.name == "LSTM";
        if (!wanted) {
            continue;
        }
        const ts::graph_view g = c.network.view();
        const batch_data data(g, 7);
        std::vector<std::pair<int, oracle>> known;
        for (std::size_t policy = 0; policy < small_policies(g, 2).size(); ++policy) {
            for (int i = 0; i <= strategies; ++i) {
                ++number;
                const int devices = i == 0 ? 2 + number % 3 : 1 + number % 4;
                ts::strategy s = data_parallel(g, devices);
                std::string schedule = "data parallel";
                if (i > 0) {
                    const pipeline_case p =
                        random_pipeline(g, devices, 7000 + static_cast<std::uint64_t>(number), seen);
                    s = p.how;
                    schedule = p.schedule;
                }
                const auto policies = small_policies(g, devices);
                const auto& [name, value] = policies[policy];
                s.sync = value;
                const oracle* expected = nullptr;
                for (const auto& [count, o] : known) {
                    expected = count == s.micro_batches ? &o : expected;
                }
                if (expected == nullptr) {
                    known.emplace_back(s.micro_batches, oracle(g, data, c.how, 3, 11, s.micro_batches));
                    expected = &known.back().second;
                }
                const sweep_result r = run_strategy(c, s, devices, data, *expected, 11, make);
                ++runs;
                CAPTURE(c.name);
                CAPTURE(name);
                CAPTURE(schedule);
                CAPTURE(devices);
                CAPTURE(number);
                CAPTURE(r.seen.worst);
                CHECK(r.failure == "");
                const double allowed = c.how.which == ts::optimizer::kind::adam ? 1e-3 : 1e-4;
                CHECK(r.seen.loss <= allowed);
                CHECK(r.seen.gradient <= allowed);
                CHECK(r.seen.change <= allowed);
                CHECK(r.seen.copies_equal);
                CHECK(r.repeats);
            }
        }
    }
    MESSAGE(runs << " combinations of policy, network, splits and pipeline");
}
