// SPDX-License-Identifier: Apache-2.0
// Rates of a machine fitted to runs that somebody measured.
#include "examples/plan/plan.hpp"
#include "examples/zoo/measured_runs.hpp"

#include <tessera/io/exchange/machine_file.hpp>

namespace planner {

namespace {

/// The machine of a run: as many nodes of the kind as it takes, of which its first devices.
ts::device_graph machine_for(const request& r, int devices) {
    const int in_node = is_file_name(r.machine) ? devices : make_machine(r.machine, 1, 0, r.memory).device_count();
    return make_machine(r.machine, (devices + in_node - 1) / in_node, devices, r.memory);
}

/// Throws tessera::error where runs are of different devices.
void require_one_kind(const std::vector<networks::measured_run>& runs, const std::string& table) {
    for (const networks::measured_run& run : runs) {
        if (run.gpu != runs[0].gpu) {
            throw ts::error("'" + table + "' has runs on " + runs[0].gpu + " and on " + run.gpu +
                            "; rates are those of one kind of device: give a table for each");
        }
        if (run.precision == "fp8") {
            throw ts::error("'" + table + "' has a run in fp8 (" + to_text(run) + "), which nothing here predicts; " +
                            "leave it out");
        }
    }
}

} // namespace

std::string calibrated(const request& r) {
    const std::vector<networks::measured_run> runs = networks::read_runs(r.calibrate);
    if (runs.empty()) {
        throw ts::error("'" + r.calibrate + "' has no runs; give as many at least as there are numbers to fit");
    }
    require_one_kind(runs, r.calibrate);
    ts::device_graph machine = make_machine(r.machine, r.nodes, r.devices, r.memory);
    if (machine.classes.size() != 1) {
        throw ts::error("the machine '" + machine.name + "' has " + std::to_string(machine.classes.size()) +
                        " classes of devices; rates are fitted to machines of one");
    }
    std::vector<ts::simulation::measured_step> steps;
    for (const networks::measured_run& run : runs) {
        steps.push_back(step_of(run, machine_for(r, run.gpus)));
    }
    ts::device_rates& rates = machine.classes[0].rates;
    const ts::simulation::calibration fit = calibrate(steps, rates.known() ? rates : ts::usual_rates());
    rates = fit.rates;
    if (!r.machine_out.empty()) {
        ts::io::write_machine(r.machine_out, machine);
    }
    return to_text(fit);
}

} // namespace planner
