// SPDX-License-Identifier: Apache-2.0
// Small versions of the networks in examples/zoo train on the host, under random strategies as they do on one device.
// Each gets as many strategies as TESSERA_STRATEGIES says, or one, or a few; benchmarks/same_numbers/zoo.cpp runs more.
#include "support/small_zoo.hpp"

#include "tessera/backend/host/backend.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace {

namespace ts = tessera;
using namespace test_support;

} // namespace

TEST_CASE("small networks of the zoo train, with the numbers of one device") {
    coverage seen;
    const int strategies = strategy_count(1);
    const bool all = strategies > 1;
    const auto make = [](const ts::optimizer& update) { return ts::host::backend(update); };
    int number_of_network = 0;
    for (const small_network& n : small_networks) {
        ++number_of_network;
        if (n.repetitive && !all) {
            continue;
        }
        const sweep_case c = make_small(n);
        const zoo_result r =
            train_small(c, std::max(strategies, n.strategies), number_of_network, n.smooth, seen, make);
        CAPTURE(c.name);
        CAPTURE(r.worst);
        CHECK(r.failure == "");
        CHECK(r.last_loss < r.first_loss);
        CHECK(r.loss <= allowed);
        CHECK(r.sensitivity <= 2e-4); // else there would be nothing to compare
        CHECK(r.gradient <= r.allowed_gradient());
        CHECK(r.change <= r.allowed_change());
        CHECK(r.repeats);
        MESSAGE(c.name << ": " << c.network.ops.size() << " operators, loss " << r.first_loss << " to " << r.last_loss
                       << ", largest relative differences of losses " << r.loss << ", gradients " << r.gradient
                       << ", changes of weights " << r.change);
    }
}
