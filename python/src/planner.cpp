// SPDX-License-Identifier: Apache-2.0
// The planner as a module of Python, tessera._planner: the functions of examples/plan, with what they print as a text. The GIL is released while they work.
#include "examples/plan/plan.hpp"
#include "examples/zoo/zoo.hpp"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <chrono>
#include <future>

namespace networks {

/// Of the zoo the package has nothing.
std::vector<const tessera::op_record*> zoo_operators() { return {}; }

} // namespace networks

namespace {

namespace py = pybind11;
namespace ts = tessera;

struct result {
    std::string text; ///< what the program would print
    planner::presented step;
    int devices = 0;
    bool interrupted = false;
};

void require_in(const char* what, ts::index_t value, ts::index_t least, ts::index_t most) {
    if (value < least || value > most) {
        throw ts::error("tessera: " + std::string(what) + " is " + std::to_string(value) + ", but must be from " +
                        std::to_string(least) + " to " + std::to_string(most));
    }
}

/// What the program's command line checks while it is read.
void require_sensible(const planner::request& r) {
    require_in("nodes", r.nodes, 1, 2048);
    require_in("devices", r.devices, 0, 16384);
    require_in("batch", r.batch, 0, 1 << 24);
    require_in("micro_batches", r.micro_batches, 0, 65536); // 0: as the search likes
    for (const planner::known_option& known : planner::known_options()) {
        const auto said = r.given.find(std::string(known.row.name));
        if (said != r.given.end()) {
            if (const std::string refusal = ts::refusal_of(known.row, said->second); !refusal.empty()) {
                throw ts::error("tessera: " + said->first + ": " + refusal);
            }
        }
    }
    if (const std::string unused = planner::unused_option(r, {r.search}); !unused.empty()) {
        const std::string owners = planner::owners_of(unused);
        throw ts::error("tessera: " + unused +
                        (owners.empty() ? " is no option" : " is an option of " + owners + "; leave it out"));
    }
    planner::require_answerable(r, {r.search});
}

/// Plans, and writes the files that the request names.
result plan(const planner::request& r, const std::atomic<bool>& interrupted) {
    require_sensible(r);
    const ts::cluster on(planner::make_machine(r.machine, r.nodes, r.devices, r.memory));
    const planner::named_network network = planner::network_in(r.network, r.batch);
    result made;
    made.devices = on.devices();
    const auto say = [&made](const std::string& text) { made.text += text; };
    const auto find = [&](const planner::problem& p) {
        const auto report = [](const ts::search::search_progress&) {};
        ts::search::search_found best = planner::run_search(p, r.search, r, {report, &interrupted});
        say(best.text);
        return best;
    };
    made.step = planner::answer(r, on, network, {find, say, [](const std::string&) {}});
    return made;
}

/// In a thread of its own, while this one looks for Ctrl-C, which ends a search with the best so far.
result plan_while_listening(const planner::request& r) {
    std::atomic<bool> interrupted = false;
    auto planned = std::async(std::launch::async, [&] { return plan(r, interrupted); });
    bool raised = false;
    {
        const py::gil_scoped_release released;
        while (planned.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
            const py::gil_scoped_acquire held;
            if (PyErr_CheckSignals() != 0) {
                interrupted = true;
                raised = true;
                PyErr_Clear(); // raised again when the thread has ended
            }
        }
    }
    result made = planned.get();
    made.interrupted = raised;
    return made;
}

/// The strategy of a file as a program for another library.
void export_plan(planner::request r) {
    if (!(r.learning_rate >= 0 && r.learning_rate <= 1e6)) {
        throw ts::error("tessera: learning_rate must be above 0 and at most 1e6");
    }
    planner::require_export(r);
    const ts::cluster on(planner::make_machine(r.machine, r.nodes, r.devices, r.memory));
    const planner::named_network network = planner::network_in(r.network, r.batch);
    r.network = network.name;
    const planner::problem p{on, network.graph.view(), planner::optimizer_of(r)};
    (void)planner::export_plan(p, planner::strategy_in(p, r.from), r);
}

std::vector<std::pair<std::string, std::string>> pairs(const std::vector<planner::listed>& all) {
    std::vector<std::pair<std::string, std::string>> r;
    for (const planner::listed& one : all) {
        r.emplace_back(one.name, one.about);
    }
    return r;
}

} // namespace

PYBIND11_MODULE(_planner, m) {
    m.doc() = "Tessera's planner; the package tessera says how to use it.";
    py::register_exception<ts::error>(m, "Error", PyExc_RuntimeError).doc() = "What Tessera refuses, in its words.";
    py::class_<planner::request>(m, "Request")
        .def(py::init<>())
        .def_readwrite("network", &planner::request::network)
        .def_readwrite("machine", &planner::request::machine)
        .def_readwrite("nodes", &planner::request::nodes)
        .def_readwrite("devices", &planner::request::devices)
        .def_readwrite("batch", &planner::request::batch)
        .def_readwrite("memory", &planner::request::memory)
        .def_readwrite("search", &planner::request::search)
        .def_readwrite("schedule", &planner::request::schedule)
        .def_readwrite("sync", &planner::request::policy)
        .def_readwrite("given", &planner::request::given)
        .def_readwrite("micro_batches", &planner::request::micro_batches)
        .def_property(
            "offload", [](const planner::request& r) { return r.offload; },
            [](planner::request& r, const py::object& what) { // True: activations, as before there was a choice
                r.offload =
                    py::isinstance<py::bool_>(what) ? what.cast<bool>() ? "activations" : "" : what.cast<std::string>();
            })
        .def_property(
            "recompute", [](const planner::request& r) { return r.recompute; },
            [](planner::request& r, const py::object& by) { // True: whole stages, as before there were rules
                r.recompute = py::isinstance<py::bool_>(by) ? by.cast<bool>() ? "stages" : "" : by.cast<std::string>();
            })
        .def_readwrite("optimizer", &planner::request::optimizer)
        .def_readwrite("from_", &planner::request::from)
        .def_readwrite("explain", &planner::request::explain)
        .def_readwrite("strategy", &planner::request::strategy_out)
        .def_readwrite("report", &planner::request::report_out)
        .def_readwrite("trace", &planner::request::trace_out)
        .def_readwrite("exports", &planner::request::exports)
        .def_readwrite("learning_rate", &planner::request::learning_rate)
        .def_readwrite("table", &planner::request::table);
    py::class_<result>(m, "Result")
        .def_readonly("text", &result::text)
        .def_readonly("devices", &result::devices)
        .def_readonly("interrupted", &result::interrupted)
        .def_property_readonly("step_ns", [](const result& r) { return r.step.step_ns; })
        .def_property_readonly("peak_bytes", [](const result& r) { return r.step.peak_bytes; })
        .def_property_readonly("moved_bytes", [](const result& r) { return r.step.moved_bytes; })
        .def_property_readonly("bound", [](const result& r) { return r.step.bound; });
    m.def("plan", &plan_while_listening, py::arg("request"),
          "Plans, and writes the files that the request names. Raises Error.");
    m.def("export_plan", &export_plan, py::arg("request"), py::call_guard<py::gil_scoped_release>(),
          "Writes the plan of a strategy file as a program for another library. Raises Error.");
    m.def(
        "searches", [] { return pairs(planner::listed_searches()); }, "Names of searches, and what each does.");
    m.def(
        "machines",
        [] {
            std::vector<std::pair<std::string, std::string>> r;
            for (const planner::machine_kind& k : planner::machine_kinds()) {
                r.emplace_back(k.name, k.about);
            }
            return r;
        },
        "Names of machines, and what each is.");
}
