// SPDX-License-Identifier: Apache-2.0
// A planner for the command line: how to split a network of the zoo over a machine that need not be here.
//
//   plan --network vgg16 --machine p100 --nodes 4 --search mcmc --report vgg16.html --strategy vgg16.json --trace vgg16.trace.json
//   plan --network vgg16 --machine p100 --nodes 4 --from vgg16.json --explain fc6 --compare data
//   plan --network vgg16 --machine p100 --memory 2GB --search fit
//
// It ends with 2 for a command line that makes no sense, with 130 where Ctrl-C ended a search early and the best so far
// was reported, and with 1 for anything else that goes wrong.
#include "examples/output.hpp"
#include "examples/plan/plan.hpp"
#include "examples/zoo/families.hpp"
#include "examples/zoo/zoo.hpp"

#include <tessera/base/nearest.hpp>
#include <tessera/base/number_text.hpp>
#include <tessera/search/joint/few_blocks.hpp>

#include <CLI/CLI.hpp>

#include <range/v3/range/conversion.hpp>
#include <range/v3/view/transform.hpp>
#include <range/v3/view/zip.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>

namespace {

namespace ts = tessera;
namespace views = ranges::views;

constexpr auto named = [](const auto& entry) { return std::string(entry.name); };

/// An option of searches, schedules or policies, as its row says.
void add_option(CLI::App& app, planner::request& r, const planner::known_option& o) {
    const std::string name(o.row.name);
    const std::string flag = "--" + name;
    const auto refusal = [row = o.row](const std::string& text) {
        double value = 0;
        return ts::is_number_text(text, value) ? ts::refusal_of(row, value) : "'" + text + "' is no number";
    };
    if (o.row.whole && o.row.least == 0 && o.row.most == 1) {
        app.add_flag_callback(
            flag, [&r, name] { r.given[name] = 1; }, std::string(o.row.about));
        return;
    }
    char type[80];
    std::snprintf(type, sizeof type, "%s in [%.12g - %.12g]", o.row.whole ? "INT" : "FLOAT", o.row.least, o.row.most);
    char usual[40] = "";
    if (o.one_usual) {
        std::snprintf(usual, sizeof usual, " [%.12g]", o.row.usual);
    }
    app.add_option_function<double>(
           flag, [&r, name](double value) { r.given[name] = value; }, std::string(o.row.about) + usual)
        ->check(refusal)
        ->type_name(type);
}

/// Sizes of networks of a family.
void add_family_options(CLI::App& app, planner::request::family_options& f) {
    constexpr int most = 1 << 24;
    const auto add = [&](const char* name, auto& to, const char* about) {
        app.add_option(name, to, std::string(about))->check(CLI::Range(1, most));
    };
    add("--layers", f.layers, "blocks of a network of a family (gpt, mpt, llama, moe, and gpt3_6_7b and such)");
    add("--width", f.width, "its channels");
    add("--heads", f.heads, "its heads of attention");
    add("--key-heads", f.key_heads, "heads of keys and values; of llama and moe");
    add("--hidden", f.hidden, "channels in the middle of its feed-forward parts");
    add("--vocabulary", f.vocabulary, "its words");
    add("--sequence", f.sequence, "positions of a sample");
    add("--experts", f.experts, "experts of a block; of moe");
    app.add_option("--dropout", f.dropout, "per cent that are dropped in training [0]")->check(CLI::Range(0, 99));
}

void add_options(CLI::App& app, planner::request& r) {
    app.add_option("--network", r.network, "network of the zoo, a network file, or an ONNX model")
        ->capture_default_str();
    app.add_option("--machine", r.machine, "kind of machine, or a machine file")->capture_default_str();
    app.add_option("--nodes", r.nodes, "nodes of the machine; a machine file says its own")
        ->check(CLI::Range(1, 2048))
        ->capture_default_str();
    app.add_option("--devices", r.devices, "take the first so many devices")->check(CLI::Range(1, 16384));
    app.add_option("--batch", r.batch, "samples of a step, all devices together")->check(CLI::Range(1, 1 << 24));
    app.add_option("--memory", r.memory, "bytes of each device, also as 16GB; 0: no limit")
        ->transform(CLI::AsSizeValue(true));
    app.add_option("--optimizer", r.optimizer, "what the optimizer keeps")
        ->check(CLI::IsMember({"sgd", "momentum", "adam", "adamw"}))
        ->capture_default_str();
    app.add_option("--precision", r.precision,
                   "bf16, tf32, fp32, fp16 or fp8; if none is said, bf16 where all devices multiply in it");
    add_family_options(app, r.family);
    auto* search = app.add_option("--search", r.search,
                                  "search, or a strategy that everybody knows [mcmc; joint for more than 8 devices]");
    app.add_option("--from", r.from, "strategy file instead of a search")->excludes(search);
    app.add_option("--resume", r.resume,
                   "keep the state of " + planner::those_that_go_on() + " in this file; if it is there, go on from it");
    app.add_option("--schedule", r.schedule, "that pipelines follow");
    app.add_option("--sync", r.policy, "policy that synchronizes gradients");
    app.add_option("--micro-batches", r.micro_batches,
                   "into which a batch is cut; 1: it is not cut; otherwise the search says")
        ->check(CLI::Range(1, 65536));
    app.add_option_function<std::string>(
           "--recompute", [&r](const std::string& by) { r.recompute = by.empty() ? "stages" : by; },
           "repeat forward instead of keeping results: of all operators, a stage at a time, where nothing more is "
           "said; or 'selective', 'full' (blocks), 'every:K' (of K blocks), 'fit' (as much as memory asks for), 'none'")
        ->expected(0, 1)
        ->type_name("[RULE]")
        ->check([](const std::string& by) {
            try {
                (void)(by.empty() || by == "stages" || by == "fit" ? ts::recompute_rule{}
                                                                   : ts::search::recompute_rule_of(by));
                return std::string();
            } catch (const ts::error& e) {
                return std::string(e.what());
            }
        });
    app.add_option_function<std::string>(
           "--offload", [&r](const std::string& what) { r.offload = what.empty() ? "activations" : what; },
           "leave in the host's memory what memory asks for: 'activations' (outputs between forward and backward, also "
           "where nothing more is said), 'optimizer' (its state, with which the host steps) or 'both'")
        ->expected(0, 1)
        ->type_name("[WHAT]")
        ->check([](const std::string& what) {
            try {
                (void)(what.empty() ? ts::search::offload_of{} : ts::search::offload_of_text(what));
                return std::string();
            } catch (const ts::error& e) {
                return std::string(e.what());
            }
        });
    app.add_flag("--table", r.table, "print the strategy");
    app.add_option("--explain", r.explain, "say why a layer is split as it is; may be repeated")->take_all();
    app.add_option("--compare", r.compare, "print the difference to another search's strategy or strategy file");
    app.add_option("--strategy", r.strategy_out, "write the strategy as JSON");
    app.add_option("--report", r.report_out, "write a report as HTML");
    app.add_option("--trace", r.trace_out, "write a trace for Perfetto");
    app.add_option("--write-machine", r.machine_out, "write the machine as JSON");
    app.add_option("--write-network", r.network_out, "write the network as JSON");
    auto* exports = app.add_option("--export", r.exports,
                                   "write the plan as a program: 'torch' and a folder, for torch.distributed")
                        ->expected(2)
                        ->type_name("LIBRARY FOLDER");
    app.add_option("--learning-rate", r.learning_rate, "of the exported program")
        ->check(CLI::Range(1e-12, 1e6))
        ->needs(exports);
    app.add_option("--calibrate", r.calibrate,
                   "fit the machine's rates to the measured runs of this table (CSV), and plan nothing");
    app.add_flag("--print-cpp", r.print_cpp, "print the network as a C++ header, and plan nothing");
    app.add_flag("--list", r.list, "name networks, machines, searches, schedules and policies");
    for (const planner::known_option& o : planner::known_options()) {
        add_option(app, r, o);
    }
}

/// A line for each of what has a name.
template <class Entries, class About>
void list(const char* title, const Entries& entries, About about) {
    std::puts(title);
    for (const auto& [name, text] : views::zip(entries | views::transform(named), entries | views::transform(about))) {
        std::printf("  %-25s %s\n", name.c_str(), std::string(text).c_str());
    }
}

void list_all() {
    list("networks", networks::zoo(), &networks::zoo_entry::what);
    list("families of networks, of any size", networks::families(), &networks::named_sizes::what);
    list("machines", planner::machine_kinds(), &planner::machine_kind::about);
    list("searches and strategies", planner::listed_searches(), &planner::listed::about);
    list("schedules of pipelines", planner::listed_schedules(), &planner::listed::about);
    list("policies that synchronize gradients", planner::listed_policies(), &planner::listed::about);
}

/// The sizes of a network of a family with what is asked for in their place.
networks::family_sizes sizes_in(const networks::family_sizes& usual, const planner::request::family_options& f,
                                const std::string& name) {
    networks::family_sizes s = usual;
    const auto take = [](auto& to, auto from) { to = from > 0 ? from : to; };
    if (f.key_heads > 0 && s.form == networks::family::gpt) {
        throw ts::error("--key-heads is an option of llama and moe; in '" + name + "' every head has keys of its own");
    }
    if (f.experts > 0 && s.form != networks::family::moe) {
        throw ts::error("--experts is an option of moe; '" + name + "' has none");
    }
    s.hidden = f.width > 0 ? 0 : s.hidden;
    take(s.layers, f.layers);
    take(s.width, f.width);
    take(s.heads, f.heads);
    take(s.key_heads, f.key_heads);
    take(s.hidden, f.hidden);
    take(s.sequence, f.sequence);
    take(s.vocabulary, f.vocabulary);
    take(s.experts, f.experts);
    s.dropout = f.dropout >= 0 ? f.dropout : s.dropout;
    return s;
}

/// Of the zoo, or a family's.
std::function<ts::graph(ts::index_t)> description_of(const planner::request& r) {
    if (const auto usual = networks::sizes_of(r.network)) {
        return [s = sizes_in(*usual, r.family, r.network)](ts::index_t batch) { return networks::describe(s, batch); };
    }
    const std::vector<networks::zoo_entry> zoo = networks::zoo();
    const auto network =
        std::find_if(zoo.begin(), zoo.end(), [&](const networks::zoo_entry& n) { return n.name == r.network; });
    if (network == zoo.end()) {
        auto names = zoo | views::transform(named) | ranges::to<std::vector>();
        for (const networks::named_sizes& n : networks::families()) {
            names.emplace_back(n.name);
        }
        throw ts::error("there is no network '" + r.network + "'" + ts::did_you_mean(r.network, names) +
                        "; --list names them, and a network file's name has a point or a slash");
    }
    return network->describe;
}

/// The network of a request for so many samples; 0: as many as are usual on so many devices.
planner::named_network network_of(const planner::request& r, int devices) {
    const bool sized = !(r.family == planner::request::family_options{});
    if (sized && (planner::is_file_name(r.network) || !networks::sizes_of(r.network))) {
        throw ts::error("'" + r.network +
                        "' has the sizes that it has; --layers, --width, --heads, --vocabulary, --sequence, --dropout "
                        "and such are options of gpt, mpt, llama, moe and the zoo's networks of these families");
    }
    if (planner::is_file_name(r.network)) {
        return planner::network_in(r.network, r.batch);
    }
    const auto describe = description_of(r);
    const ts::index_t batch = r.batch > 0 ? r.batch : planner::usual_batch(describe(1).view()) * devices;
    return {r.network, describe(batch), nullptr};
}

/// "; did you mean --batch?" for the first argument that is no option, where one is like it.
std::string nearest_option(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* o : app.get_options()) {
        names.push_back(o->get_name());
    }
    const std::vector<std::string> unknown = app.remaining();
    return unknown.empty() ? "" : ts::did_you_mean(unknown.front().substr(0, unknown.front().find('=')), names);
}

/// The search where none is asked for: joint for networks of repeated blocks on more than 8 equal devices, else mcmc,
/// which keeps a state and has options of its own.
std::string usual_search(const planner::request& r) {
    const ts::device_graph on = planner::make_machine(r.machine, r.nodes, r.devices, r.memory);
    if (on.device_count() <= 8 || on.classes.size() > 1 || !r.resume.empty() || !r.given.empty()) {
        return "mcmc";
    }
    const planner::named_network n = network_of(r, on.device_count());
    const bool repeats = ts::find_repeats(n.graph.view()).count >= ts::search::few_block_estimator::blocks_needed;
    return repeats ? "joint" : "mcmc";
}

void run(const planner::request& r) {
    if (!r.calibrate.empty()) {
        std::fputs(planner::calibrated(r).c_str(), stdout);
        return;
    }
    if (r.print_cpp) {
        planner::print_cpp(network_of(r, 1));
        return;
    }
    std::vector<std::string> searches;
    if (r.from.empty()) {
        searches.push_back(r.search);
    }
    if (!r.compare.empty() && !planner::is_file_name(r.compare)) {
        searches.push_back(r.compare);
    }
    if (const std::string unused = planner::unused_option(r, searches); !unused.empty()) {
        throw CLI::ValidationError("--" + unused,
                                   "it is an option of " + planner::owners_of(unused) + "; leave --" + unused + " out");
    }
    planner::require_answerable(r, searches);
    const ts::cluster on(planner::make_machine(r.machine, r.nodes, r.devices, r.memory));
    const auto note = [](const std::string& text) { std::fprintf(stderr, "plan: %s\n", text.c_str()); };
    const auto find = [&](const planner::problem& p) {
        ts::search::search_found found = planner::find_strategy(p, r.search, r);
        if (planner::interruptible::flag()) {
            note("interrupted; what follows is the best so far" +
                 (!planner::can_go_on(r.search) ? ""
                  : r.resume.empty()            ? "; with --resume FILE a search can go on"
                                                : "; the same command goes on from '" + r.resume + "'"));
        }
        return found;
    };
    planner::named_network network = network_of(r, on.devices());
    planner::set_precision(network.graph, r, on.graph());
    planner::answer(r, on, network, {find, [](const std::string& text) { std::fputs(text.c_str(), stdout); }, note});
}

} // namespace

int main(int count, char** arguments) {
    planner::request r;
    CLI::App app("Plans the training of a network on a machine that need not be here: all times are simulated.");
    try {
        add_options(app, r);
        app.parse(count, arguments);
        if (r.list) {
            list_all();
            return output::finish("plan");
        }
        if (app.count("--memory") > 0 && r.memory < 0) {
            throw CLI::ValidationError("--memory",
                                       "a device cannot have " + std::to_string(r.memory) + " bytes; 0 is no limit");
        }
        if (app.count("--nodes") > 0 && (planner::is_file_name(r.machine) || r.machine == "heterogeneous")) {
            throw CLI::ValidationError("--nodes",
                                       "the machine '" + r.machine + "' says how many nodes it has; leave --nodes out");
        }
        if (r.search.empty() && r.from.empty() && r.calibrate.empty() && !r.print_cpp) {
            r.search = usual_search(r);
        }
        if (!r.resume.empty() && (!r.from.empty() || !planner::can_go_on(r.search))) {
            throw CLI::ValidationError("--resume", "only --search " + planner::those_that_go_on() +
                                                       " can go on from a file; leave --resume out");
        }
        run(r);
        return output::finish("plan",
                              planner::interruptible::flag() ? 130 : EXIT_SUCCESS); // as a shell reports Ctrl-C
    } catch (const CLI::ExtrasError& e) {
        std::fprintf(stderr, "plan: %s%s\n", e.what(), nearest_option(app).c_str());
        return 2;
    } catch (const CLI::ParseError& e) {
        if (e.get_exit_code() == 0) {
            return output::finish("plan", app.exit(e)); // --help
        }
        std::fprintf(stderr, "plan: %s\n", e.what());
        return 2;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "plan: %s\n", e.what());
        return EXIT_FAILURE;
    }
}
