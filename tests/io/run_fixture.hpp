// SPDX-License-Identifier: Apache-2.0
// A simulated run of LeNet-5 to show: by one weird trick, or as a pipeline.
#pragma once

#include "examples/networks.hpp"
#include "tessera/io/reports/shown_run.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/schedule/gpipe.hpp"
#include "tessera/search/pipeline.hpp"

namespace run_of_lenet {

namespace ts = tessera;
namespace io = tessera::io;

struct run_fixture {
    ts::cluster on;
    ts::graph network = ts::describe<networks::lenet5>(16);
    io::shown_run run;

    explicit run_fixture(const ts::device_graph& machine, bool piped = false) : on(machine) {
        const ts::graph_view g = network.view();
        ts::strategy s = ts::search::one_weird_trick(g, on.devices());
        if (piped) {
            const auto stage =
                ts::schedule::balance_stages(ts::search::operator_times(g, on.class_of(0)), on.devices());
            s = ts::search::pipeline(g, stage, ts::schedule::gpipe(on.devices(), 4));
            s.ops[2].recompute = true;
        }
        run = io::simulated_run(g, s, on);
    }
};

} // namespace run_of_lenet
