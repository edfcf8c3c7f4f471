// SPDX-License-Identifier: Apache-2.0
// Delta simulation against full simulation: random changes of strategies, every one lowered and simulated as a whole
// too.
#pragma once

#include "random_strategy.hpp"

#include "tessera/machine/cluster.hpp"
#include "tessera/simulate/delta/delta.hpp"

#include <string>
#include <utility>
#include <vector>

namespace test_support {

/// What became of proposals.
struct delta_findings {
    long compared = 0; ///< of those that follow from one another by delta simulation
    long whole = 0;    ///< of strategies of which every change is simulated as a whole
    long accepted = 0;
    long cut_short = 0;             ///< proposed again, and cut short as soon as they were certain to take longer
    long illegal = 0;               ///< drawn, and not proposed
    long spans = 0;                 ///< tasks whose start and end were compared
    long visited = 0;               ///< activities that delta simulation worked out again
    long activities = 0;            ///< of all
    std::vector<std::string> wrong; ///< what differs
};

/// A strategy, lowered and simulated as a whole.
struct whole_simulation {
    ts::simulation::timeline seen;
    ts::index_t moved_bytes = 0;

    whole_simulation(const ts::graph_view& g, const ts::cluster& on, const ts::strategy& s,
                     const ts::simulation::task_times& times, const ts::lower_options& o) {
        const ts::plan p = ts::lower(g, s.view(), on.devices(), o);
        seen = ts::simulation::simulate(g, p, on, times);
        moved_bytes = p.moved_bytes;
    }
};

/// Other configurations for one to three operators, which keep their stages and whether they recompute.
inline std::vector<ts::change> random_changes(const ts::graph_view& g, const ts::strategy& from, int devices,
                                              random& pick, coverage& seen) {
    ts::strategy next = from;
    std::vector<ts::change> changes;
    for (int left = 1 + pick(3); left > 0; --left) {
        const int op = pick(g.op_count);
        bool again = false;
        for (const ts::change& x : changes) {
            again = again || x.op == op;
        }
        if (!again) {
            ts::configuration& c = next.ops[ts::to_size(op)];
            const ts::configuration before = std::exchange(c, {});
            ts::copy_all_but_shards(c, before);
            random_configuration(g, next, op, devices, 1 + pick(3), pick, seen);
            changes.push_back(ts::change_of(next, op));
        }
    }
    return changes;
}

/// Draws changes `draws` times from a strategy on, keeps some, and compares makespan, start and end of every task, and
/// bytes moved with those of a whole simulation, bit for bit: of what is proposed, after it was kept or undone, and of
/// what is proposed again and cut short. Ends at the first difference.
inline void compare_proposals(const std::string& name, const ts::graph_view& g, const ts::cluster& on,
                              const ts::strategy& start, const ts::simulation::task_times& times,
                              const ts::lower_options& o, int draws, random& pick, coverage& seen,
                              delta_findings& found) {
    ts::simulation::delta_simulation delta(g, on, start, times, o);
    const auto differs = [&](int draw, const char* what) {
        found.wrong.push_back(name + ", change " + std::to_string(draw) + ": " + what);
    };
    const auto equals = [&](const whole_simulation& w) {
        found.spans += static_cast<long>(w.seen.tasks.size());
        return delta.spans() == w.seen.tasks && delta.moved_bytes() == w.moved_bytes;
    };
    whole_simulation now(g, on, start, times, o);
    if (delta.makespan() != now.seen.makespan || !equals(now)) {
        return differs(0, "the start differs");
    }
    for (int i = 1; i <= draws; ++i) {
        const std::vector<ts::change> changes = random_changes(g, delta.current(), on.devices(), pick, seen);
        ts::strategy next = delta.current();
        for (const ts::change& x : changes) {
            ts::apply(next, x);
        }
        if (ts::check_strategy(g, next.view(), on.devices())) {
            ++found.illegal;
            continue;
        }
        whole_simulation then(g, on, next, times, o);
        const ts::index_t expected = then.seen.makespan;
        ++(delta.is_incremental() ? found.compared : found.whole);
        if (delta.propose(changes) != expected || !equals(then)) {
            return differs(i, "a proposal differs");
        }
        if (delta.is_incremental()) {
            found.visited += static_cast<long>(delta.visited());
            found.activities += static_cast<long>(delta.activities());
        }
        if (pick(3) == 0) { // the same once more, cut short and not
            ++found.cut_short;
            delta.reject();
            const bool undone = delta.makespan() == now.seen.makespan && equals(now);
            const bool cut = delta.propose(changes, expected - 1) == INT64_MAX;
            delta.reject();
            if (!undone || !cut || delta.propose(changes, expected) != expected || !equals(then)) {
                return differs(i, !undone ? "what was undone differs"
                                  : !cut  ? "what takes too long is not cut short"
                                          : "what was cut short before differs");
            }
        }
        const bool accepts = pick(2) == 0;
        accepts ? delta.accept() : delta.reject();
        if (accepts) {
            ++found.accepted;
            std::swap(now, then);
        }
        if (delta.makespan() != now.seen.makespan || !equals(now)) {
            return differs(i, accepts ? "what was kept differs" : "what was undone differs");
        }
    }
}

} // namespace test_support
