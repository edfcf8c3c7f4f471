// SPDX-License-Identifier: Apache-2.0
// Plans of a session share their memory on the host: what another plan, or anything, has left in the arenas reaches no
// number, in any format.
#include "support/networks.hpp"
#include "support/same_numbers.hpp"

#include "tessera/host.hpp"
#include "tessera/search/by_hand/baselines.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

namespace {

namespace ts = tessera;
using test_support::batch_data;
using host_session = ts::session<ts::host::backend>;

/// NaN everywhere.
void poison(const host_session& s) {
    for (std::size_t d = 0; d < s.training_plan().arena_bytes.size(); ++d) {
        std::memset(s.training_executor().memory().arena(static_cast<int>(d)), 0xff,
                    ts::to_size(s.training_plan().arena_bytes[d]));
    }
}

} // namespace

TEST_CASE("arenas full of NaN before every run change no bit of losses and parameters, and plans that go take their "
          "jobs with them") {
    const std::vector<ts::graph> networks{ts::describe<test_networks::lenet5::network>(20),
                                          ts::describe<test_networks::residual_net::network>(20),
                                          ts::describe<test_networks::inception::network>(20)};
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const ts::graph_view g = networks[seed % networks.size()].view();
        const ts::optimizer how(ts::sgd{.learning_rate = 0.02F, .momentum = 0.9F});
        const ts::strategy split = ts::search::data_parallel(g, 2);
        const ts::host::backend_options random{ts::host::tuning::random, seed, {}};
        ts::workers threads(2);
        ts::host::backend clean_backend(how, random);
        ts::host::backend dirty_backend(how, random);
        {
            host_session clean(g, split, 2, how, {}, clean_backend, threads);
            host_session dirty(g, split, 2, how, {}, dirty_backend, threads);
            for (const int size : {20, 20, 13, 20, 6, 13}) {
                const ts::graph described = ts::with_batch(g, size);
                const batch_data data(described.view(), seed);
                poison(dirty);
                CHECK(clean.step(data.inputs) == dirty.step(data.inputs));
                poison(dirty);
                CHECK(clean.evaluate(data.inputs).loss == dirty.evaluate(data.inputs).loss);
            }
            for (int p = 0; p < g.parameter_count; ++p) {
                CHECK(clean.parameter(p) == dirty.parameter(p));
            }
            CHECK(dirty_backend.plans() == 6);
        }
        CHECK(dirty_backend.plans() == 0);
    }
}
