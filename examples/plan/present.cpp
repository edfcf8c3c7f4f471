// SPDX-License-Identifier: Apache-2.0
// What the planner prints and writes.
#include "examples/plan/plan.hpp"

#include <tessera/io/report_network.hpp>
#include <tessera/search/baselines.hpp>
#include <tessera/search/print.hpp>

#include <cstdio>

namespace planner {

namespace {

/// The device that has least room left, and by how much its plan is too large, or "".
std::string lacking(const problem& p, const ts::plan& plan) {
    for (int d = 0; d < plan.devices; ++d) {
        const ts::index_t has = p.on.class_of(d).memory_bytes;
        const ts::index_t needs =
            plan.arena_bytes[static_cast<std::size_t>(d)] + plan.persistent_bytes[static_cast<std::size_t>(d)];
        if (has > 0 && needs > has) {
            return "device " + std::to_string(d) + " needs " + ts::io::detail::bytes_text(static_cast<double>(needs)) +
                   " and has " + ts::io::detail::bytes_text(static_cast<double>(has));
        }
    }
    return "";
}

void print_line(const problem& p, const std::string& name, const ts::io::shown_run& r) {
    ts::index_t peak = 0;
    for (const ts::index_t bytes : r.simulated.peak_bytes) {
        peak = std::max(peak, bytes);
    }
    const std::string missing = lacking(p, r.plan);
    std::printf("%-28s %12.3f ms a step, %9s move, at most %9s on a device%s\n", name.c_str(),
                static_cast<double>(r.simulated.makespan) * 1e-6,
                ts::io::detail::bytes_text(static_cast<double>(r.plan.moved_bytes)).c_str(),
                ts::io::detail::bytes_text(static_cast<double>(peak)).c_str(),
                missing.empty() ? "" : ", which is too much");
}

} // namespace

int find_layer(const ts::graph_view& g, const std::string& name) {
    std::string like;
    int count = 0;
    for (int op = 0; op < g.op_count; ++op) {
        const std::string own = ts::detail::name_of(g, op);
        if (own == name) {
            return op;
        }
        if (own.compare(0, 3, name, 0, 3) == 0 && count < 6) { // begins alike
            like += (count++ == 0 ? "; there are " : ", ") + own;
        }
    }
    throw ts::error("the network has no layer '" + name + "'" + (like.empty() ? "; --table lists its layers" : like));
}

void present(const problem& p, const ts::strategy& found, const std::string& called, const request& r) {
    const ts::index_t batch = p.network.tensors[0].extents[0];
    const std::string about = r.network + ", batch " + std::to_string(batch) + ", on " + p.on.graph().name + " (" +
                              std::to_string(p.on.devices()) + " devices), " + called;
    const ts::io::shown_run run = run_of(p, found);
    std::string notes;
    for (const std::string& layer : r.explain) {
        notes += explanation_of(p, found, layer) + "\n";
    }
    std::printf("%s\n", about.c_str());
    print_line(p, called, run);
    if (r.compare.empty()) {
        print_line(p, "data parallel", run_of(p, ts::search::data_parallel(p.network, p.on.devices())));
        print_line(p, "one device", run_of(p, ts::search::single_device(p.network)));
    } else {
        const ts::strategy other = is_file_name(r.compare) ? strategy_in(p, r.compare) : find_strategy(p, r.compare, r);
        print_line(p, r.compare, run_of(p, other));
        const std::string text =
            to_text(p.network, ts::search::difference(p.network, found, other), found, other, called, r.compare);
        std::printf("\n%s", text.c_str());
        notes += text;
    }
    if (r.table) {
        std::printf("\n%s", to_text(p.network, found.view()).c_str());
    }
    if (!r.explain.empty()) {
        std::printf("\n%s", notes.substr(0, notes.find_last_not_of('\n') + 1).c_str());
        std::printf("\n");
    }
    if (const std::string missing = lacking(p, run.plan); !missing.empty()) {
        throw ts::error("the strategy does not fit: " + missing +
                        "; use more devices, a smaller batch, another search, or --memory 0");
    }
    write_files(p, run, r, about, notes);
}

} // namespace planner
