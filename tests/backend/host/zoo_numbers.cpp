// SPDX-License-Identifier: Apache-2.0
// Small versions of the networks in examples/zoo train on the host under random strategies as they do on one device.
#include "examples/zoo/recurrent.hpp"
#include "examples/zoo/transformers.hpp"
#include "support/sweep.hpp"

#include "tessera/backend/host/backend.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using namespace test_support;

std::vector<sweep_case> small_zoo() {
    const ts::optimizer plain(ts::sgd{.learning_rate = 0.05F, .momentum = 0.9F});
    // Gradients of a few units behind sigmoids are small: in smaller steps the rounding of the weights themselves would show.
    const ts::optimizer fast(ts::sgd{.learning_rate = 1.0F, .momentum = 0.9F});
    std::vector<sweep_case> cases;
    cases.push_back({"GPT", ts::describe<networks::gpt_parts<2, 12, 3, 5, 17>::network>(4), plain});
    cases.push_back({"RNNLM", ts::describe<networks::rnnlm_parts<3, 6, 11>::network>(4), fast});
    cases.push_back({"NMT", ts::describe<networks::nmt_parts<2, 6, 9>::network>(4), fast});
    return cases;
}

} // namespace

TEST_CASE("small networks of the zoo give the numbers of one device") {
    coverage seen;
    const int strategies = strategy_count(4);
    for (const sweep_case& c : small_zoo()) {
        const auto make = [](const ts::optimizer& how) { return ts::host::backend(how); };
        double worst = 0;
        sweep(c, strategies, seen, make, [&](const sweep_case& of, int number, int devices, const sweep_result& r) {
            CAPTURE(of.name);
            CAPTURE(number);
            CAPTURE(devices);
            CAPTURE(r.seen.worst);
            CHECK(r.failure == "");
            CHECK(r.seen.loss <= 1e-4);
            CHECK(r.seen.gradient <= 1e-4);
            CHECK(r.seen.change <= 1e-4);
            CHECK(r.seen.copies_equal);
            CHECK(r.repeats);
            worst = std::max(worst, r.seen.gradient);
        });
        MESSAGE(c.name << ": " << strategies << " strategies, largest relative difference of gradients " << worst);
    }
}
