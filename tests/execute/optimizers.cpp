// SPDX-License-Identifier: Apache-2.0
// Every optimizer under random strategies and all synchronization policies gives the numbers of one device in double,
// on the reference backend and on the host.
#include "support/optimizer_runs.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using namespace test_support;

/// The optimizers, every other one with clipping of the norm.
std::vector<sweep_case> cases(int batch) {
    std::vector<sweep_case> all;
    for (auto& [name, how] : all_optimizers()) {
        all.push_back({name, ts::describe<test_networks::mlp::network>(batch), how});
        all.back().how.clip_norm = all.size() % 2 == 0 ? 0.05F : 0.0F;
    }
    return all;
}

} // namespace

TEST_CASE("every optimizer gives the numbers of one device under random strategies on the reference backend") {
    hold_cases_on_reference(cases(6));
}

TEST_CASE("every optimizer gives the numbers of one device under random strategies on the host") {
    hold_cases(cases(6), host_in_formats_of);
}

TEST_CASE("every optimizer gives the numbers of one device under every synchronization policy") {
    hold_policies(cases(6));
}
