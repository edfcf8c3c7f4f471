// SPDX-License-Identifier: Apache-2.0
// Delta simulation against full simulation over random networks, machines, strategies, schedules, policies, optimizers
// and task times.
#pragma once

#include "delta_against_full.hpp"
#include "random_case.hpp"
#include "random_machine.hpp"
#include "random_pair.hpp"

namespace test_support {

/// A random machine, or one that there is, of about so many devices.
inline ts::device_graph some_machine(int devices, random& pick) {
    switch (pick(8)) {
    case 0:
        return ts::machines::p100_nodes(1 + pick(2), 2);
    case 1:
        return ts::machines::heterogeneous();
    case 2:
        return ts::machines::this_host(devices);
    default:
        return random_machine(devices, pick);
    }
}

/// Up to `draws` changes of one random strategy for one random network on one random machine. Half of the strategies
/// are splits alone, which delta simulation lowers operator by operator unless gradients are clipped; the others have
/// any schedule and synchronization policy.
inline void try_proposals(std::uint64_t number, int draws, coverage& seen, delta_findings& found) {
    random pick{ts::op::mix(number ^ 0xde17aULL)};
    const random_case c(number);
    const ts::graph_view g = c.network.view();
    random_pair pair;
    if (pick(2) == 0) {
        pair.devices = 1 + pick(6);
        pair.how = random_strategy(g, pair.devices, number, seen);
        pair.how.statistics = pick(4) == 0 ? ts::statistics_over::replica : ts::statistics_over::micro_batch;
        pair.what = "splits alone";
    } else {
        pair = draw_pair(g, c.how, number, seen);
    }
    ts::device_graph machine = some_machine(pair.devices, pick);
    while (machine.device_count() < pair.devices) {
        machine = random_machine(pair.devices, pick);
    }
    const ts::cluster on(machine);
    ts::lower_options o;
    o.update = c.how;
    ts::simulation::task_times times;
    for (int& share : times.reached.compute) {
        share = 1 + pick(100);
    }
    times.reached.memory = 1 + pick(100);
    times.collectives = pick(3) != 0;
    times.server_megabytes = times.collectives || pick(2) == 0 ? 0 : random_size(5, pick);
    ts::cost::profile measured;
    const std::string name = "network " + std::to_string(number) + ", " + pair.what + ", on machine '" + machine.name +
                             "' of " + std::to_string(on.devices());
    try {
        if (pick(3) == 0) { // half of the tasks that there are at first
            const ts::plan p = ts::lower(g, pair.how.view(), on.devices(), o);
            for (const ts::task& t : p.tasks) {
                if (t.kind() == ts::task_kind::compute && pick(2) == 0) {
                    measured.set(ts::simulation::signature_of(g, p.tiles, t), random_size(6, pick));
                }
            }
            times.measured = &measured;
        }
        compare_proposals(name, g, on, pair.how, times, o, draws, pick, seen, found);
    } catch (const std::exception& e) {
        found.wrong.push_back(name + ": " + e.what());
    }
}

} // namespace test_support
