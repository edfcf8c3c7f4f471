// SPDX-License-Identifier: Apache-2.0
// What the planner's sources share.
#pragma once

#include <tessera/base/registry.hpp>
#include <tessera/machine/cluster.hpp>
#include <tessera/op/optimizer.hpp>
#include <tessera/search/finished_step.hpp>
#include <tessera/search/record.hpp>
#include <tessera/simulate/step_figures.hpp>
#include <tessera/simulate/task_time.hpp>
#include <tessera/strategy/strategy.hpp>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tessera::io {
struct shown_run;
}

namespace planner {

namespace ts = tessera;

/// Samples on a device where a request says nothing: fewer for sequences, one where the parameters alone fill a device.
ts::index_t usual_batch(const ts::graph_view& one_sample);

/// The kinds of machines by name, and what they are.
struct machine_kind {
    std::string name;
    std::string about;
    ts::device_graph (*make)(int nodes) = nullptr;
};
const std::vector<machine_kind>& machine_kinds();

/// A machine by the name of its kind or from a file; of `devices` devices (0: all), each of `memory` bytes (negative:
/// as the machine says, 0: unlimited).
ts::device_graph make_machine(const std::string& name_or_file, int nodes, int devices, ts::index_t memory);

/// What is asked for.
struct request {
    std::string network = "vgg16";
    std::string machine = "p100";
    int nodes = 1;
    int devices = 0;
    ts::index_t batch = 0;
    ts::index_t memory = -1;
    std::string search;                  ///< "": the usual one of the machine
    std::string schedule;                ///< of pipelines
    std::string policy;                  ///< by which gradients are synchronized
    std::map<std::string, double> given; ///< options of searches, schedules and policies
    int micro_batches = 0;               ///< 0: as the search likes; 1: a batch is not cut
    std::string offload;   ///< to the host's memory, as much as memory asks for: see search::offload_of; "": nothing
    std::string recompute; ///< "": as the search likes; "stages", or what search::recompute_rule_of() reads
    std::string optimizer = "momentum";
    std::string precision; ///< "": bf16 where every device multiplies in it, otherwise what the network says
    /// Of a network of a family; 0 (dropout: -1): as its name says.
    struct family_options {
        int layers = 0;
        ts::index_t width = 0, heads = 0, key_heads = 0, hidden = 0, sequence = 0, vocabulary = 0, experts = 0;
        int dropout = -1;

        friend bool operator==(const family_options&, const family_options&) = default;
    } family;
    std::string from;   ///< strategy file that takes the place of a search
    std::string resume; ///< file that keeps the state of mcmc
    std::string compare;
    std::vector<std::string> explain;
    std::string strategy_out, report_out, trace_out, machine_out, network_out;
    std::vector<std::string> exports; ///< what to, and a folder
    double learning_rate = 0;         ///< of an exported program; 0: the optimizer's usual one
    bool print_cpp = false;
    bool table = false;
    bool list = false;
    std::string calibrate; ///< a table of measured runs
};

/// A network by the name that it has; where it is from a file, `texts` holds what its operators are called.
struct named_network {
    std::string name;
    ts::graph graph;
    std::shared_ptr<const void> texts;
};

/// What a search has to know.
struct problem {
    const ts::cluster& on;
    ts::graph_view network;
    ts::optimizer update;
};

/// While it lives Ctrl-C asks a search to end with the best so far; a second Ctrl-C ends the program, as does one at
/// any other time.
class interruptible {
public:
    interruptible();
    ~interruptible();
    interruptible(const interruptible&) = delete;
    interruptible& operator=(const interruptible&) = delete;

    /// Set by Ctrl-C, and never unset.
    static const std::atomic<bool>& flag();
};

/// What there is by a name, and a line about it.
struct listed {
    std::string name;
    std::string about;
};
std::vector<listed> listed_searches();
std::vector<listed> listed_schedules();
std::vector<listed> listed_policies();

/// An option of searches, schedules or policies.
struct known_option {
    ts::option_row row;
    bool one_usual = true; ///< all that have it take the same value where none is given
};
std::vector<known_option> known_options();
/// "the search mcmc and the policy p3": what has an option.
std::string owners_of(const std::string& option);
/// An option that is given and that nothing that is asked for has; "" where there is none.
std::string unused_option(const request& r, const std::vector<std::string>& searches);

/// Throws tessera::error, with names that are like it, for a search that does not exist.
void require_search(const std::string& name);
/// The same for the schedule and the policy that a request names, and where none of its searches follows a schedule.
void require_schedule(const request& r, const std::vector<std::string>& searches);
/// True where a search keeps its state in a file.
bool can_go_on(const std::string& search);
std::string those_that_go_on();
/// Who follows a search: what it is told now and then, and what asks the search to end with the best so far.
struct follower {
    ts::search::search_report report;
    const std::atomic<bool>* interrupted = nullptr;
};
/// Runs a search. Throws tessera::error for names that do not exist and for what does not fit.
ts::search::search_found run_search(const problem& p, const std::string& name, const request& r, const follower& by);
/// The same with its progress on a terminal; it prints what the search says. Ctrl-C ends it with the best so far.
ts::search::search_found find_strategy(const problem& p, const std::string& name, const request& r);

/// In the precision of a request, or in what is usual on these devices. Throws tessera::error where one of them lacks
/// it.
void set_precision(ts::graph& g, const request& r, const ts::device_graph& on);

/// The optimizer of a request.
ts::optimizer optimizer_of(const request& r);

/// Throws tessera::error, in words, where the plan of a strategy would take too long to order or too much memory: its
/// time grows with the cube of the devices among which gradients are exchanged.
void require_plannable(const problem& p, const ts::strategy& s);
/// True where that is so, or where it would take more than a few seconds: what a search estimates is shown instead.
bool is_large(const problem& p, const ts::strategy& s);

/// What is simulated of a strategy that is too large to be planned as a whole, where equal parts of the machine do the
/// same: step and memory; else a step of 0.
ts::search::finished_step step_of_parts(const problem& p, const ts::strategy& s);

/// Plans and simulates a strategy.
ts::io::shown_run run_of(const problem& p, const ts::strategy& s);
/// Why a layer is split as it is.
std::string explanation_of(const problem& p, const ts::strategy& s, const std::string& layer);

ts::device_graph machine_in(const std::string& file);
/// The network of a file, for so many samples (0: as many as it says).
named_network network_in(const std::string& file, ts::index_t batch);
/// Writes the network file that a request names.
void write_network(const named_network& n, const request& r);
/// A C++ header that holds the network as a type, on stdout.
void print_cpp(const named_network& n);
/// The strategy of a file. Throws tessera::error where it is for more devices than there are.
ts::strategy strategy_in(const problem& p, const std::string& file);
bool is_file_name(const std::string& s);
/// Throws tessera::error where one of the files that a request names could not be written.
void require_writable(const request& r);
/// Writes the strategy file that a request names: before what comes after a search, which can be interrupted.
void write_strategy(const problem& p, const ts::strategy& s, const request& r);
/// Writes the other files that a request names.
void write_files(const problem& p, const ts::io::shown_run& run, const request& r, const std::string& about,
                 const std::string& notes);

/// A strategy's simulated step, in numbers.
struct presented {
    ts::index_t step_ns = 0;
    ts::index_t peak_bytes = 0; ///< on the device that has most
    ts::index_t moved_bytes = 0;
    std::string bound; ///< how far from the best possible it is at most, or why there is no bound
    ts::simulation::step_figures figures;
    ts::simulation::memory_split memory; ///< on the device that has most
};
/// The result of a request, handed to `say` piece by piece, and in the files that the request names.
presented present(const problem& p, const ts::search::search_found& found, const std::string& called, const request& r,
                  const std::function<void(const std::string&)>& say);

/// The strategy's plan as a program for another library, where one is asked for: a sentence about it, or nothing.
/// Throws tessera::error for a library that there is no export to, and with all that has no counterpart there.
void require_export(const request& r); // before a search
std::string export_plan(const problem& p, const ts::strategy& s, const request& r);

/// Fits the rates of a request's machine to the table of measured runs that it names: the report of the fit. Writes the
/// machine with these rates where the request says so.
std::string calibrated(const request& r);

/// The operator of a layer's name. Throws tessera::error, with names that are like it, where there is none.
int find_layer(const ts::graph_view& g, const std::string& name);

/// Throws tessera::error for what cannot be answered, whatever the network.
void require_answerable(const request& r, const std::vector<std::string>& searches);

/// Who asks: how a strategy is searched for, and who is told.
struct asker {
    std::function<ts::search::search_found(const problem&)> find;
    std::function<void(const std::string&)> say;  ///< the result, piece by piece
    std::function<void(const std::string&)> note; ///< a sentence beside it
};
/// Plans what a request asks for, and writes the files that it names.
presented answer(const request& r, const ts::cluster& on, const named_network& network, const asker& who);

} // namespace planner
