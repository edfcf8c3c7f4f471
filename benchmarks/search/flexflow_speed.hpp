// SPDX-License-Identifier: Apache-2.0
// Full and delta simulation of the same random proposals.
#pragma once

#include "benchmarks/search/flexflow_settings.hpp"
#include "tessera/search/mcmc/mcmc.hpp"

namespace flexflow {

/// Random single-operator proposals from data parallelism, half of them accepted.
inline void speed(int which, int devices, const settings& s) {
    const ts::cluster on = machine(devices);
    const ts::graph network_of = network(which, devices, s);
    const ts::graph_view g = network_of.view();
    simulation::delta_simulation delta(g, on, search::data_parallel(g, devices));
    search::proposal_options o;
    o.groups = false; // as the paper: one operator at a time
    const search::proposer propose(g, on, o);
    search::random_numbers pick{1};
    const int wanted = s.proposals > 0 ? s.proposals : devices <= 4 ? 100 : devices <= 16 ? 30 : 10;
    double delta_time = 0;
    double cut_time = 0;
    double full_time = 0;
    double visited = 0;
    double activities = 0;
    bool equal = true;
    for (int made = 0; made < wanted;) {
        const search::proposal p = propose.next(delta.current(), pick);
        if (p.empty()) {
            continue;
        }
        double before = seconds();
        const ts::index_t bar = delta.makespan();
        const bool worse = delta.propose(p, bar) > bar; // as a search would ask
        delta.reject();
        cut_time += seconds() - before;
        before = seconds();
        const ts::index_t found = delta.propose(p);
        delta_time += seconds() - before;
        equal = equal && worse == (found > bar);
        ts::strategy next = delta.current();
        before = seconds();
        const ts::plan whole = ts::lower(g, next.view(), devices);
        const simulation::timeline t = simulation::simulate(g, whole, on);
        full_time += seconds() - before;
        equal = equal && found == t.makespan && (made % 10 != 0 || delta.spans() == t.tasks);
        visited += static_cast<double>(delta.visited());
        activities += static_cast<double>(delta.activities());
        before = seconds();
        if (pick(2) == 0) {
            delta.accept();
        } else {
            delta.reject();
        }
        delta_time += seconds() - before;
        ++made;
    }
    std::printf("| %s | %d | %.0f | %.4g | %.4g | %.4g | %.1f | %.1f | %.0f %% | %d | %s |\n",
                benchmarks::flexflow_names[which], devices, activities / wanted, wanted / full_time,
                wanted / delta_time, wanted / cut_time, full_time / delta_time, full_time / cut_time,
                100 * visited / activities, wanted, equal ? "equal" : "DIFFERENT");
    std::fflush(stdout);
}

inline void speed_table(const settings& s) {
    std::printf("\n## Full and delta simulation\n\nOne core; random proposals of one operator from data parallelism, "
                "half accepted. 'full' lowers and "
                "simulates the whole network, 'delta' what changed, 'cut' stops as soon as the makespan is certain to "
                "be more than "
                "before, as a search at temperature 0 asks. Visited: activities that delta simulates again.\n\n"
                "| network | GPUs | activities | full /s | delta /s | cut /s | delta/full | cut/full | visited | "
                "proposals | results |\n"
                "|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (const int which : s.networks) {
        for (const int devices : s.devices) {
            speed(which, devices, s);
        }
    }
}

} // namespace flexflow
