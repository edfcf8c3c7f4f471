// SPDX-License-Identifier: Apache-2.0
// The optimizer's state on the host: updates made there leave the bits that devices leave, whatever strategy, policy of
// synchronization and optimizer, and files of either are the other's.
#include "support/random_compression.hpp"
#include "support/random_network.hpp"
#include "support/random_pair.hpp"
#include "support/random_staleness.hpp"
#include "support/same_numbers.hpp"
#include "support/sweep.hpp"

#include "tessera/backend/reference/backend.hpp"
#ifdef TESSERA_TEST_HOST
#include "tessera/host.hpp"
#endif

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

namespace ts = tessera;
using namespace test_support;

/// All that some steps leave.
struct bits {
    std::vector<double> losses;
    std::vector<std::vector<float>> values; ///< gradients, parameters and states
    int updates = 0;
    int on_host = 0; ///< of these

    friend bool operator==(const bits& a, const bits& b) { return a.losses == b.losses && a.values == b.values; }
};

const std::vector<ts::optimizer>& optimizers() {
    static const std::vector<ts::optimizer> all = [] {
        const ts::sgd momentum{.learning_rate = 0.1F, .momentum = 0.9F, .weight_decay = 0.01F};
        std::vector<ts::optimizer> x{ts::optimizer(momentum),
                                     ts::optimizer(momentum, 0.05F),
                                     ts::optimizer(ts::adam{.learning_rate = 0.01F}),
                                     ts::optimizer(ts::adamw{.learning_rate = 0.01F}, 0.5F),
                                     ts::optimizer(ts::rmsprop{.learning_rate = 0.01F, .momentum = 0.9F}),
                                     ts::optimizer(ts::lars{.learning_rate = 0.1F}),
                                     ts::optimizer(ts::lamb{.learning_rate = 0.01F}),
                                     ts::optimizer(ts::lamb{.learning_rate = 0.01F}, 0.5F)};
        return x;
    }();
    return all;
}

template <class Backend>
bits run(const ts::graph_view& g, const ts::strategy& s, int devices, const batch_data& data,
         const ts::optimizer& how) {
    Backend backend(how);
    ts::workers threads(devices);
    ts::session_options options;
    options.seed = 5;
    options.keep_gradients = true;
    ts::session<Backend> session(g, s, devices, how, options, backend, threads);
    bits all;
    for (const ts::task& t : session.training_plan().tasks) {
        const bool updates = t.kind() == ts::task_kind::update;
        all.updates += updates ? 1 : 0;
        all.on_host += updates && session.training_plan().tiles[ts::to_size(t.writes[0])].on_host ? 1 : 0;
    }
    for (int step = 0; step < 4; ++step) {
        all.losses.push_back(session.step(data.inputs));
    }
    for (int p = 0; p < g.parameter_count; ++p) {
        for (int state = -1; state < (g.parameters[p].trained ? how.state_count() : 0); ++state) {
            all.values.push_back(session.state_of(p, state));
        }
    }
    return all;
}

} // namespace

namespace {

struct seen_runs {
    int runs = 0;
    int on_host = 0; ///< updates
    int refused = 0; ///< strategies, with and without
};

template <class Backend>
void compare(std::uint64_t number, seen_runs& seen) {
    using half = ts::with_precision<ts::bf16, test_networks::transformer::network>;
    const ts::graph network = number % 9 == 4 ? ts::describe<half>(4) : random_network(700 + number);
    const ts::graph_view g = network.view();
    const ts::optimizer& how = optimizers()[number % optimizers().size()];
    coverage used;
    random_pair pair = draw_pair(g, how, 300 + number, used);
    test_support::random pick{ts::op::mix(number)};
    const int more = pick(4);
    if (more == 0 && how.clip_norm == 0 && !how.is_layerwise()) {
        pick(2) == 0 ? delay(g, number, pair) : compress(g, number, pair);
    }
    CAPTURE(number);
    CAPTURE(pair.what);
    const batch_data data(g, number);
    pair.how.state_on_host = false;
    bits kept;
    try {
        kept = run<Backend>(g, pair.how, pair.devices, data, how);
    } catch (const ts::error&) { // statistics over one value, or compression on one device: now and then
        ++seen.refused;
        return;
    }
    pair.how.state_on_host = true;
    const bits there = run<Backend>(g, pair.how, pair.devices, data, how);
    CHECK(kept.on_host == 0);
    CHECK(there.on_host == there.updates);
    CHECK((there == kept));
    ++seen.runs;
    seen.on_host += there.on_host;
}

template <class Backend>
void compare_all(int count) {
    seen_runs seen;
    for (int i = 0; i < count; ++i) {
        compare<Backend>(static_cast<std::uint64_t>(i), seen);
    }
    MESSAGE(seen.runs << " runs, " << seen.on_host << " updates on the host, " << seen.refused << " refused");
    CHECK(seen.refused * 5 < seen.runs);
}

} // namespace

TEST_CASE("reference: updates on the host leave the same bits") { compare_all<ts::reference::backend>(150); }

#ifdef TESSERA_TEST_HOST
TEST_CASE("host: updates on the host leave the same bits") { compare_all<ts::host::backend>(100); }
#endif
