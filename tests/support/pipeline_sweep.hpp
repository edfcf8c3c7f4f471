// SPDX-License-Identifier: Apache-2.0
// The same numbers in pipelines: random ones of every network against one device that runs the same micro-batches in
// double.
#pragma once

#include "random_pipeline.hpp"
#include "sweep.hpp"

namespace test_support {

/// Calls `report(case, pipeline, devices, result)` for random pipelines of a network from number `first` on, on 1 to 4
/// devices in turn.
template <class Make, class Report>
void sweep_pipelines(const sweep_case& c, int pipelines, coverage& seen, Make make, Report report, int first = 0) {
    const ts::graph_view g = c.network.view();
    oracles expected(c);
    for (int i = first; i < first + pipelines; ++i) {
        const int devices = 1 + i % 4;
        pipeline_case p = random_pipeline(g, devices, 3000 + static_cast<std::uint64_t>(i), seen);
        p.how.overlap = i % 3 == 1;
        report(c, p, devices, expected.run(p.how, devices, make));
    }
}

} // namespace test_support
