// SPDX-License-Identifier: Apache-2.0
// Any legal strategy computes on the host backend what one device computes, whatever implementations and memory formats
// are chosen: estimated ones in even runs, random ones in odd ones. TESSERA_STRATEGIES=300 runs as many for every
// network.
#include "support/host_formats.hpp"
#include "support/sweep_check.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;

struct last : ts::conv2d<5, ts::window<3>> {};
struct classes : ts::sequential<ts::image<3, 6, 6>, last, ts::average_pool<4>, ts::flatten, ts::cross_entropy> {};
struct pixels : ts::sequential<ts::image<3, 5, 6>, last, ts::flatten, ts::cross_entropy> {};

} // namespace

TEST_CASE("evaluation of a loss that reads a flattened image gives the numbers of one device, in every format") {
    using namespace test_support;
    for (const ts::graph& g : {ts::describe<classes>(18), ts::describe<pixels>(4)}) {
        const batch_data data(g.view(), 2);
        ts::reference::network oracle(g.view());
        oracle.initialize(4);
        set_all(oracle, data);
        const double loss = oracle.evaluate();
        for (int run = 0; run < 12; ++run) {
            CAPTURE(run);
            ts::strategy s(g.view());
            s.ops[0].degree[0] = s.ops[1].degree[0] = run % 3 == 2 ? 2 : 1;
            ts::host::backend backend = host_in_formats_of(ts::optimizer(), run);
            ts::workers threads(2);
            ts::session<ts::host::backend> session(g.view(), s, 2, ts::optimizer(), {.seed = 4}, backend, threads);
            CHECK(session.evaluate(data.inputs).loss == doctest::Approx(loss).epsilon(1e-5));
        }
    }
}

TEST_CASE("random strategies in random formats give the numbers of one device, twice the same bits") {
    using namespace test_support;
    hold_strategies(strategy_count(4), host_in_formats_of, allowed_rounding_with_adam);
}
