// SPDX-License-Identifier: Apache-2.0
// Working memory as the cost model assumes it (cost/workspace.hpp), for the zoo's networks with convolutions under data
// parallelism: what it adds to the predicted peak of a device on four P100s, and what the host's backend asks for in
// its place when it binds the same tasks for two devices. Usage: workspaces [samples of a device]
#include "examples/zoo/zoo.hpp"
#include "tessera/host.hpp"
#include "tessera/search/finished_step.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace {

namespace ts = tessera;

double in_mb(ts::index_t bytes) { return static_cast<double>(bytes) * 1e-6; }

ts::index_t peak_of(ts::plan& p) {
    ts::plan_memory(p);
    ts::index_t most = 0;
    for (std::size_t d = 0; d < p.arena_bytes.size(); ++d) {
        most = std::max(most, p.arena_bytes[d] + p.persistent_bytes[d]);
    }
    return most;
}

/// Of the convolutions' tasks on device 0.
struct working_memory {
    ts::index_t most = 0; ///< bytes of one task
    ts::index_t sum = 0;  ///< of all, as if none used another's again

    void add(ts::index_t bytes) {
        most = std::max(most, bytes);
        sum += bytes;
    }
};

void row(const networks::zoo_entry& entry, ts::index_t samples) {
    const ts::graph gpus = entry.describe(4 * samples);
    const ts::strategy on_gpus = ts::search::data_parallel(gpus.view(), 4);
    ts::plan plain = ts::lower(gpus.view(), on_gpus.view(), 4);
    ts::plan assumed = ts::search::bound_plan(gpus.view(), on_gpus, 4);
    const ts::index_t before = peak_of(plain);
    const ts::index_t after = peak_of(assumed);

    const ts::graph network = entry.describe(2 * samples);
    const ts::graph_view g = network.view();
    ts::plan p = ts::lower(g, ts::search::data_parallel(g, 2).view(), 2);
    ts::host::backend backend;
    backend.bind(p, g, nullptr);
    working_memory model;
    working_memory host;
    for (const ts::task& t : p.tasks) {
        const bool computes = t.kind() == ts::task_kind::compute && t.what != ts::pass::update && t.device == 0;
        if (computes && g.facts(t.op).work == ts::work_kind::convolution) {
            model.add(ts::cost::workspace_bytes(g.describe(t.op), t.compute().ranges));
            host.add(t.scratch >= 0 ? p.tiles[ts::to_size(t.scratch)].bytes : 0);
        }
    }
    std::printf("| %s | %.1f | %.1f | %+.1f | %.2f | %.2f | %.2f | %.2f |\n", entry.name, in_mb(before), in_mb(after),
                100 * (static_cast<double>(after) / static_cast<double>(before) - 1), in_mb(model.most),
                in_mb(host.most), static_cast<double>(host.most) / static_cast<double>(model.most),
                static_cast<double>(host.sum) / static_cast<double>(model.sum));
    std::fflush(stdout);
}

bool has_workspace(const ts::graph_view& g) {
    for (int op = 0; op < g.op_count; ++op) {
        const ts::description d = g.describe(op);
        ts::interval all[ts::max_loops];
        for (int l = 0; l < d.loops.size(); ++l) {
            all[l] = {0, d.loops[l].extent};
        }
        if (ts::cost::workspace_bytes(d, all) > 0) {
            return true;
        }
    }
    return false;
}

} // namespace

int main(int count, char** arguments) {
    const int samples = count > 1 ? std::atoi(arguments[1]) : 4;
    if (samples < 1) {
        std::fprintf(stderr, "usage: workspaces [samples of a device]\n");
        return 2;
    }
    std::printf("%d samples a device. Peak: parameters, state and arena of the fullest of four P100s, MB, without and "
                "with the workspaces that the model assumes. Largest: of one task of a convolution, MB, by the model "
                "and by oneDNN or a kernel of our own; in all: of all those tasks, the host's over the model's.\n\n"
                "| network | peak without | with | %% | largest, model | host | host/model | in all, host/model |\n"
                "|---|---|---|---|---|---|---|---|\n",
                samples);
    for (const networks::zoo_entry& entry : networks::zoo()) {
        if (has_workspace(entry.describe(samples).view())) {
            row(entry, samples);
        }
    }
}
