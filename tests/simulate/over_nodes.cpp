// SPDX-License-Identifier: Apache-2.0
// Plans over nodes whose links take time: against plans without links, bounds that nothing can pass, and links that do
// not know what is urgent.
#include "tessera/simulate/over_nodes.hpp"

#include "support/networks.hpp"
#include "support/random_case.hpp"
#include "support/random_pair.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/plan/finish.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/search/by_hand/baselines.hpp"
#include "tessera/simulate/threads.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace test_support;
namespace simulation = ts::simulation;
using ts::index_t;

namespace {

struct spread_plan {
    ts::plan p;
    ts::node_traffic traffic;
    simulation::node_links links;
};

/// Every device is a node.
spread_plan spread(const ts::graph_view& g, const ts::strategy_view& s, int devices, const ts::optimizer& update) {
    spread_plan x;
    ts::lower_options o;
    o.update = update;
    x.p = ts::lower(g, s, devices, o);
    ts::reference::backend b(update);
    b.bind(x.p, g, nullptr);
    ts::finish(g, x.p, 0, &update);
    for (int d = 0; d < devices; ++d) {
        x.links.node_of.push_back(d);
    }
    x.links.nodes = devices;
    x.traffic = ts::traffic_between_nodes(x.p, x.links.node_of, devices);
    return x;
}

std::vector<simulation::thread_time> equal_times(const ts::plan& p, index_t each) {
    return std::vector<simulation::thread_time>(p.tasks.size(), {each, each, 0});
}

index_t makespan(spread_plan& x, index_t each) {
    x.links.traffic = &x.traffic;
    return simulation::simulate(x.p, equal_times(x.p, each), {}, &x.links).makespan;
}

/// Bytes that the busiest node sends.
double most_sent(const spread_plan& x) {
    std::vector<double> of_node(ts::to_size(x.links.nodes), 0.0);
    for (std::size_t i = 0; i < x.p.tasks.size(); ++i) {
        for (const auto& m : x.traffic.after[i]) {
            of_node[ts::to_size(x.p.tasks[i].device)] += static_cast<double>(ts::node_traffic::bytes_of_parts(x.p, m));
        }
    }
    return *std::max_element(of_node.begin(), of_node.end());
}

/// Hands so many random plans, over nodes of one device each, to `look`; strategies that are refused are passed over.
template <class Look>
void for_random_plans(std::uint64_t first, int count, Look&& look) {
    int plans = 0;
    for (std::uint64_t number = first; plans < count; ++number) {
        const random_case c(number);
        coverage seen;
        const random_pair pair = draw_pair(c.network.view(), c.how, number * 64, seen);
        if (pair.devices < 2) {
            continue;
        }
        CAPTURE(number);
        CAPTURE(pair.what);
        try {
            spread_plan x = spread(c.network.view(), pair.how.view(), pair.devices, c.how);
            look(x);
            ++plans;
        } catch (const ts::error&) {
            continue;
        }
    }
}

} // namespace

TEST_CASE("random plans: without limits links cost nothing; with one no step is shorter than its busiest link; slower "
          "links, longer steps") {
    for_random_plans(710000, 60, [](spread_plan& x) {
        const index_t without = simulation::simulate(x.p, equal_times(x.p, 1000), {}).makespan;
        CHECK(makespan(x, 1000) <= without + 1000); // a remote write's own nanosecond
        CHECK(makespan(x, 1000) >= without);
        index_t last = without;
        for (const double rate : {1e10, 1e8, 1e6}) {
            x.links.bytes_per_second = rate;
            const index_t now = makespan(x, 1000);
            CHECK(static_cast<double>(now) >= most_sent(x) / rate * 1e9 * 0.999);
            CHECK(now >= last);
            last = now;
        }
        x.links.latency = 1'000'000;
        // Some message is under way so long; others may go on beside it.
        CHECK((most_sent(x) == 0 || makespan(x, 1000) >= std::max<index_t>(last, 1'000'000)));
    });
}

TEST_CASE("links that take the most urgent letter first end P3's steps sooner than links that take them as they come") {
    const ts::graph network = ts::describe<test_networks::lenet5::network>(8);
    const ts::graph_view g = network.view();
    ts::strategy s = ts::search::data_parallel(g, 2);
    s.sync = small_policy(g, 2, "p3").second;
    s.overlap = true;
    s.steps_per_plan = 3;
    spread_plan x = spread(g, s.view(), 2, ts::optimizer(ts::sgd{}));
    double gain = 0;
    for (const double share : {0.25, 0.5, 1.0, 2.0, 4.0}) {
        const double computes = 20'000 * 20; // about the tasks of a step, one after the other
        x.links.bytes_per_second = most_sent(x) / 3 / (share * computes * 1e-9);
        x.links.in_order = false;
        const auto urgent = static_cast<double>(makespan(x, 20'000));
        x.links.in_order = true;
        gain = std::max(gain, static_cast<double>(makespan(x, 20'000)) / urgent - 1);
    }
    CHECK(gain > 0.01);
}

TEST_CASE("letters take cores from tasks, as long as they are on their way, and only where there are too few cores") {
    constexpr int plans = 30;
    int slowed = 0;
    for_random_plans(720000, plans, [&](spread_plan& x) {
        x.links.traffic = &x.traffic;
        x.links.bytes_per_second = 1e6;
        const auto makespan_on = [&](int cores, double seconds) {
            x.links.core_seconds_per_byte = seconds;
            simulation::thread_costs costs;
            costs.cores = cores;
            return simulation::simulate(x.p, equal_times(x.p, 1'000'000), costs, &x.links).makespan;
        };
        // A link at full rate takes half a core.
        slowed += makespan_on(1, 0.5e-6) > makespan_on(1, 0) ? 1 : 0;
        CHECK(makespan_on(64, 0.5e-6) == makespan_on(64, 0));
        CHECK(makespan_on(0, 0.5e-6) == makespan_on(0, 0));
    });
    CHECK(slowed > plans / 2);
}
