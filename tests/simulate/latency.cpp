// SPDX-License-Identifier: Apache-2.0
// Simulated plans of every schedule over links with latency against a walk of the schedule's lists that shares no code
// with the simulator: they take as long, but for the two replicas' exchange of gradients in GEMS and Chimera, which is
// all they take longer.
#include "support/equal_layers.hpp"
#include "support/star.hpp"
#include "tessera/simulate/simulate.hpp"

#include "tessera/plan/finish.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/schedule/schedules.hpp"
#include "tessera/search/pipeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace {

namespace ts = tessera;
namespace schedule = tessera::schedule;
namespace sim = tessera::simulation;
using ts::action_kind;
using ts::index_t;
using namespace test_support::equal_layers;

constexpr index_t nothing = 1; ///< what a task takes that should take no time

/// Devices at one switch, whose links take half of the latency each and no time for bytes.
ts::cluster with_latency(int devices, index_t latency) {
    constexpr index_t plenty = 1000000000;
    return test_support::star(devices, plenty, plenty, plenty, latency / 2);
}

/// What is simulated: the end of the pipeline's last action, and of all.
struct seen {
    index_t actions = 0;
    index_t all = 0;
};

seen simulated(const ts::pipeline_schedule& order, index_t latency) {
    const ts::graph network = ts::describe<tower>(order.micro_batches);
    const ts::graph_view g = network.view();
    std::vector<int> stage;
    for (int op = 0; op < g.op_count; ++op) {
        const int place = op == 0 ? 0 : op > layers ? layers - 1 : op - 1;
        stage.push_back(place * order.stages / layers);
    }
    const int devices = static_cast<int>(order.workers.size());
    ts::plan p = ts::lower(g, ts::search::pipeline(g, stage, order).view(), devices);
    ts::finish(g, p);
    ts::cost::profile times;
    for (const ts::task& t : p.tasks) {
        const bool works = t.kind() == ts::task_kind::compute && t.op > 0 && t.op <= layers;
        times.set(sim::signature_of(g, p.tiles, t), works ? unit : nothing);
    }
    sim::task_times how;
    how.measured = &times;
    const sim::timeline t = sim::simulate(g, p, with_latency(devices, latency), how);
    seen r;
    r.all = t.makespan;
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        r.actions = p.tasks[i].kind() == ts::task_kind::compute ? std::max(r.actions, t.tasks[i].end) : r.actions;
    }
    return r;
}

/// When the last action ends if every worker takes its list in order, what crosses from one worker to another takes the
/// latency, and an action takes its stage's layers.
index_t walked(const ts::pipeline_schedule& s, index_t latency) {
    using key = std::pair<std::pair<int, int>, action_kind>;
    std::map<key, std::pair<index_t, std::size_t>> end; // and on which worker
    std::vector<std::size_t> next(s.workers.size(), 0);
    std::vector<index_t> free(s.workers.size(), 0);
    for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t w = 0; w < s.workers.size(); ++w) {
            for (; next[w] < s.workers[w].size(); ++next[w]) {
                const ts::action& x = s.workers[w][next[w]];
                index_t start = free[w];
                bool known = true;
                const auto after = [&](int stage, action_kind kind) {
                    const auto found = end.find({{stage, x.micro_batch}, kind});
                    known = known && found != end.end();
                    start = known ? std::max(start, found->second.first + (found->second.second != w ? latency : 0))
                                  : start;
                };
                if (x.what == action_kind::forward && x.stage > 0) {
                    after(x.stage - 1, action_kind::forward);
                } else if (x.what == action_kind::backward_weight) {
                    after(x.stage, action_kind::backward_input);
                } else if (x.what != action_kind::forward) {
                    after(x.stage, action_kind::forward);
                    if (x.stage + 1 < s.stages) {
                        after(x.stage + 1, x.what);
                    }
                }
                if (!known) {
                    break;
                }
                const index_t each = unit * layers / s.stages;
                free[w] = start + (x.what == action_kind::backward ? 2 * each : each);
                end[{{x.stage, x.micro_batch}, x.what}] = {free[w], w};
                moved = true;
            }
        }
    }
    return *std::max_element(free.begin(), free.end());
}

} // namespace

TEST_CASE("plans over links with latency take what a walk of their lists takes; replicas add their exchange of "
          "gradients and no more") {
    int held = 0;
    for (const schedule::schedule_record* which : schedule::library_schedules) {
        for (const int k : {2, 4}) {
            for (const int m : {2, 4, 8}) {
                schedule::settings x;
                x.which = which;
                x.workers = k;
                x.micro_batches = m;
                if (!schedule::is_possible(x)) {
                    continue;
                }
                for (const index_t latency : {index_t{0}, unit / 2, 3 * unit}) {
                    const ts::pipeline_schedule s = schedule::make(x);
                    const seen plan = simulated(s, latency);
                    const index_t walk = walked(s, latency);
                    CAPTURE(schedule::to_text(x));
                    CAPTURE(latency);
                    const double actions =
                        static_cast<double>(plan.actions - walk) / unit; // in units; what takes no time takes 1 ns
                    CHECK(std::abs(actions) < 1e-3);
                    // Two devices reduce and gather, each a way there and back; the last stage's has nothing to hide
                    // behind.
                    const double after = static_cast<double>(plan.all - walk - (x.mirrors() ? 2 * latency : 0)) / unit;
                    CHECK(std::abs(after) < 1e-3);
                    ++held;
                }
            }
        }
    }
    CHECK(held == 141);
}
