// SPDX-License-Identifier: Apache-2.0
// What is made again, or has waited in the host's memory, is what was there: sessions compute the bits that they compute
// without, dropout and the statistics of batch norms included.
#include "support/networks.hpp"
#include "support/random_network.hpp"
#include "support/random_pipeline.hpp"
#include "support/same_numbers.hpp"
#include "support/sweep.hpp"

#include "tessera/backend/reference/backend.hpp"
#ifdef TESSERA_TEST_HOST
#include "tessera/host.hpp"
#endif

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

namespace {

namespace ts = tessera;
using namespace test_support;

/// All that three steps leave: losses, gradients and parameters, running statistics among them.
struct bits {
    std::vector<double> losses;
    std::vector<std::vector<float>> values;
    int recomputed = 0;
    int waited = 0; ///< tiles in the host's memory

    friend bool operator==(const bits& a, const bits& b) { return a.losses == b.losses && a.values == b.values; }
};

/// The host chooses kernels and formats by what a whole plan takes, so that a plan with more tasks may sum in another
/// order; other samples, masks or statistics are far from this.
bool are_close(const std::vector<float>& a, const std::vector<float>& b) {
    double error = 0;
    double norm = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
        error += d * d;
        norm += static_cast<double>(b[i]) * static_cast<double>(b[i]);
    }
    return a.size() == b.size() && std::sqrt(error) <= 1e-2 * std::sqrt(norm) + 1e-6;
}
bool are_close(const bits& a, const bits& b) {
    bool close = a.losses.size() == b.losses.size() && a.values.size() == b.values.size();
    for (std::size_t i = 0; close && i < a.losses.size(); ++i) {
        close = std::abs(a.losses[i] - b.losses[i]) <= 1e-4 * std::abs(b.losses[i]);
    }
    for (std::size_t i = 0; close && i < a.values.size(); ++i) {
        close = are_close(a.values[i], b.values[i]);
    }
    return close;
}

template <class Backend, class... Operators>
bits run(const ts::graph_view& g, const ts::strategy& s, int devices, const batch_data& data, const ts::optimizer& how,
         const Operators&... operators) {
    Backend backend(how, operators...);
    ts::workers threads(devices);
    ts::session_options options;
    options.seed = 5;
    options.keep_gradients = true;
    ts::session<Backend> session(g, s, devices, how, options, backend, threads);
    bits all;
    for (const ts::task& t : session.training_plan().tasks) {
        all.recomputed += t.what == ts::pass::recompute && t.kind() == ts::task_kind::compute ? 1 : 0;
    }
    for (const ts::tile& t : session.training_plan().tiles) {
        all.waited += t.on_host ? 1 : 0;
    }
    for (int step = 0; step < 3; ++step) {
        all.losses.push_back(session.step(data.inputs));
        for (int p = 0; p < g.parameter_count; ++p) {
            if (g.parameters[p].trained) {
                all.values.push_back(session.gradient(p));
            }
        }
    }
    for (int p = 0; p < g.parameter_count; ++p) {
        all.values.push_back(session.parameter(p));
    }
    return all;
}

/// Every operator recomputes, or offloads, or each does what falls to it, both at times.
void choose(ts::strategy& s, test_support::random& pick) {
    const int all = pick(6);
    for (ts::configuration& c : s.ops) {
        c.recompute = all == 0 || (all > 1 && pick(3) == 0);
        c.offload = all == 1 || (all > 1 && pick(3) == 0);
    }
}

struct seen_runs {
    int runs = 0;
    int recomputed = 0; ///< operators' shards
    int waited = 0;
};

template <class Backend>
void compare(const ts::graph_view& g, ts::strategy s, int devices, std::uint64_t seed, const ts::optimizer& how,
             seen_runs& seen) {
    const batch_data data(g, seed);
    test_support::random pick{ts::op::mix(seed)};
    for (ts::configuration& c : s.ops) {
        c.recompute = c.offload = false;
    }
    bits kept;
    try {
        kept = run<Backend>(g, s, devices, data, how);
    } catch (const ts::error& e) { // a batch norm over one sample is drawn now and then
        CHECK(std::string(e.what()).find("statistics over one value") != std::string::npos);
        return;
    }
    choose(s, pick);
    const bits again = run<Backend>(g, s, devices, data, how);
    CHECK(kept.recomputed == 0);
    CHECK(kept.waited == 0);
    if constexpr (std::is_same_v<Backend, ts::reference::backend>) {
        CHECK((again == kept));
    } else {
        CHECK(are_close(again, kept));
    }
    ++seen.runs;
    seen.recomputed += again.recomputed;
    seen.waited += again.waited;
}

template <class Backend>
seen_runs compare_all(int each) {
    const ts::optimizer momentum(ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F});
    seen_runs seen;
    coverage used;
    int number = 0;
    for (const sweep_case& c : sweep_cases()) {
        CAPTURE(c.name);
        const ts::graph_view g = c.network.view();
        for (int i = 0; i < each; ++i, ++number) {
            CAPTURE(i);
            const int devices = 1 + number % 3;
            const auto seed = static_cast<std::uint64_t>(number);
            compare<Backend>(g, random_pipeline(g, devices, 7000 + seed, used).how, devices, seed, c.how, seen);
        }
    }
    for (int i = 0; i < 8 * each; ++i) {
        CAPTURE(i);
        const auto seed = static_cast<std::uint64_t>(i);
        const ts::graph network = random_network(400 + seed);
        const ts::graph_view g = network.view();
        const int devices = 1 + i % 2;
        compare<Backend>(g, random_pipeline(g, devices, 100 + seed, used).how, devices, seed, momentum, seen);
    }
    return seen;
}

} // namespace

TEST_CASE("reference: recomputed and offloaded operators leave the same bits") {
    const seen_runs seen = compare_all<ts::reference::backend>(strategy_count(3));
    MESSAGE(seen.runs << " runs, " << seen.recomputed << " shards made again, " << seen.waited << " waited");
    CHECK(seen.recomputed > 15 * seen.runs);
    CHECK(seen.waited > 10 * seen.runs);
}

#ifdef TESSERA_TEST_HOST
TEST_CASE("host: recomputed and offloaded operators leave the same numbers") {
    const seen_runs seen = compare_all<ts::host::backend>(strategy_count(3));
    MESSAGE(seen.runs << " runs, " << seen.recomputed << " shards made again, " << seen.waited << " waited");
    CHECK(seen.recomputed > 15 * seen.runs);
    CHECK(seen.waited > 10 * seen.runs);
}
#endif
