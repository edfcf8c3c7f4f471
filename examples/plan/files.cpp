// SPDX-License-Identifier: Apache-2.0
// The files that the planner reads and writes.
#include "examples/plan/plan.hpp"
#include "examples/zoo/zoo.hpp"

#include <tessera/io/exchange/machine_file.hpp>
#include <tessera/io/exchange/network_cpp.hpp>
#include <tessera/io/exchange/network_file.hpp>
#include <tessera/io/exchange/onnx_network.hpp>
#include <tessera/io/exchange/strategy_file.hpp>
#include <tessera/io/files/file.hpp>
#include <tessera/io/reports/report.hpp>
#include <tessera/io/reports/trace.hpp>

#include <cstdio>

namespace planner {

bool is_file_name(const std::string& s) { return s.find('.') != std::string::npos || s.find('/') != std::string::npos; }

ts::device_graph machine_in(const std::string& file) { return ts::io::read_machine(file); }

named_network network_in(const std::string& file, ts::index_t batch) {
    if (ts::io::is_onnx_file(file)) {
        ts::onnx::options how;
        how.batch = batch;
        ts::io::onnx_network read = ts::io::read_onnx(file, how);
        for (const std::string& note : read.notes) {
            std::fprintf(stderr, "plan: %s: %s\n", file.c_str(), note.c_str());
        }
        return {read.file.name, std::move(read.file.network), read.file.texts};
    }
    ts::io::network_file read = ts::io::read_network(file, batch, networks::zoo_operators());
    return {read.name, std::move(read.network), read.texts};
}

void write_network(const named_network& n, const request& r) {
    if (!r.network_out.empty()) {
        ts::io::write_network(r.network_out, n.graph.view(), n.name);
    }
}

void print_cpp(const named_network& n) { std::fputs(ts::io::to_cpp(n.graph.view(), n.name).c_str(), stdout); }

ts::strategy strategy_in(const problem& p, const std::string& file) {
    const ts::io::strategy_file read = ts::io::read_strategy(p.network, file);
    if (read.devices > p.on.devices()) {
        throw ts::error("the strategy in '" + file + "' is for " + std::to_string(read.devices) +
                        " devices and the machine has " + std::to_string(p.on.devices()) + "; ask for more nodes");
    }
    return read.value;
}

void require_writable(const request& r) {
    for (const std::string* path :
         {&r.machine_out, &r.network_out, &r.strategy_out, &r.trace_out, &r.report_out, &r.resume}) {
        if (!path->empty()) {
            ts::io::require_writable(*path);
        }
    }
}

void write_strategy(const problem& p, const ts::strategy& s, const request& r) {
    if (!r.strategy_out.empty()) {
        ts::io::write_strategy(r.strategy_out, p.network, s, p.on.devices());
    }
}

void write_files(const problem& p, const ts::io::shown_run& run, const request& r, const std::string& about,
                 const std::string& notes) {
    if (!r.machine_out.empty()) {
        ts::io::write_machine(r.machine_out, p.on.graph());
    }
    if (!r.trace_out.empty()) {
        ts::io::write_trace(r.trace_out, run);
    }
    if (!r.report_out.empty()) {
        ts::io::report_options page;
        page.title = r.network + " on " + p.on.graph().name;
        page.about = about + "; everything is simulated, from the plan that an executor would run";
        page.notes = notes;
        ts::io::write_report(r.report_out, run, page);
    }
}

} // namespace planner
