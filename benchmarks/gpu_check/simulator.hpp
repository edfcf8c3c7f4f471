// SPDX-License-Identifier: Apache-2.0
// The simulator against measurement: the step of a plan as predicted from the times of its tasks, each measured alone,
// beside the step that the same plan takes.
#pragma once

#include "benchmarks/gpu_check/networks.hpp"
#include "benchmarks/gpu_check/roofline.hpp"

#include "tessera/simulate/simulate.hpp"

#include <cmath>

namespace gpu_check {

inline double error_of(const options& o, const network_row& row, int micro_batches, const ts::cluster& machine) {
    const ts::graph_view g = row.network.view();
    ts::strategy s(g);
    s.micro_batches = micro_batches;
    training plain(o, g, s, false);
    const double step = plain.step();
    const call_sums calls = plain.sums();
    const ts::cost::profile times = plain.backend().task_times(plain.plan(), g);
    const ts::cost::roofline_efficiency reached{{100, 100, 100}, 100}; // the machine's figures are measured ones
    const ts::simulation::timeline t = ts::simulation::simulate(g, plain.plan(), machine, {&times, reached});
    training replayed(o, g, s, true);
    const double graph = replayed.step();
    const double predicted = static_cast<double>(t.makespan) * 1e-6;
    const double measured = std::min(step, graph);
    const double error = predicted / measured - 1;
    std::printf("%-10s %6d %6d %6zu %11.3f %11.3f %11.3f %11.3f %11.3f %8.1f%s\n", row.name.c_str(), row.batch,
                micro_batches, plain.plan().tasks.size(), calls.all(), calls.uploads, predicted, step, graph,
                100 * error, verdict(true, std::abs(error) <= 0.1));
    std::fflush(stdout);
    return error;
}

inline int simulator(const options& o) {
    row_filter filter(o);
    ts::device_graph graph;
    graph.name = "the GPU at hand";
    ts::device_class gpu = measure_roofline(o, false);
    gpu.serial_copies = true; // a device's stream does its copies and updates too
    graph.add_class(gpu);
    graph.add_device(0, "gpu 0", -1);
    const ts::cluster machine(graph);
    std::printf(
        "steps on one device, %s; milliseconds; per cent is the prediction over the faster step (uploads are in the "
        "step; the simulator takes them for copies in the GPU's memory)\n",
        o.precision.c_str());
    std::printf("%-10s %6s %6s %6s %11s %11s %11s %11s %11s %8s\n", "network", "batch", "micro", "tasks",
                "sum of calls", "uploads", "predicted", "step", "graph", "per cent");
    int failed = 0;
    double total = 0;
    int count = 0;
    for (const network_row& row : network_rows(o)) {
        for (const int micro_batches : {1, 4}) {
            const std::string name = row.name + (micro_batches > 1 ? " in micro-batches" : "");
            if (row.batch >= micro_batches && filter.takes(name)) {
                failed += attempt(name,
                                  [&] {
                                      total += std::abs(error_of(o, row, micro_batches, machine));
                                      ++count;
                                  })
                              ? 0
                              : 1;
            }
        }
    }
    std::printf("mean of the absolute errors: %.1f per cent\n", count > 0 ? 100 * total / count : 0.0);
    return filter.finish() && failed == 0 ? 0 : 1;
}

} // namespace gpu_check
