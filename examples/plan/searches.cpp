// SPDX-License-Identifier: Apache-2.0
// The searches that the planner knows by name.
#include "examples/plan/plan.hpp"

#include <tessera/base/nearest.hpp>
#include <tessera/execute/search_threads.hpp>
#include <tessera/io/coarse_search_file.hpp>
#include <tessera/io/waiting.hpp>
#include <tessera/schedule/gpipe.hpp>
#include <tessera/schedule/one_forward_one_backward.hpp>
#include <tessera/schedule/stages.hpp>
#include <tessera/schedule/zero_bubble.hpp>
#include <tessera/search/coarse_search.hpp>
#include <tessera/search/optcnn_cluster.hpp>
#include <tessera/search/pipeline.hpp>

#include <cstdio>

namespace planner {

namespace {

/// What a search under the additive model found, or a baseline that is faster by simulation: prints which, beside the others.
ts::strategy compared(const problem& p, const request& r, const std::string& name, const ts::strategy& found) {
    ts::search::compare_options how;
    how.faithful = r.faithful;
    how.lowering.update = p.update;
    const ts::search::compared_search all = compare_with_baselines(p.network, p.on, name, found, how);
    std::fputs(to_text(all).c_str(), stdout);
    return all.best();
}

ts::search::optcnn_result solved(const problem& p) {
    const ts::io::waiting sign("OptCNN");
    return solve_optcnn(p.network, ts::search::make_optcnn_problem(p.network, p.on), p.on.devices());
}

ts::strategy modelled(const problem& p, const request& r) {
    const ts::search::optcnn_result found = solved(p);
    std::printf("found by %s%s\n", to_text(found.by),
                found.by == ts::search::optcnn_method::eliminations
                    ? ""
                    : (", over tables of " + std::to_string(found.width) + " operators").c_str());
    return compared(p, r, "OptCNN", found.best);
}

ts::strategy eliminated(const problem& p, const request& r) {
    const auto solve = [](const ts::search::optcnn_problem& costs) {
        const ts::io::waiting sign("elimination");
        return eliminate_variables(costs.costs);
    };
    const auto costs = ts::search::make_optcnn_problem(p.network, p.on);
    const ts::search::variable_elimination_solution found = solve(costs);
    if (found.state != ts::search::status::solved) {
        throw ts::error("variable elimination meets tables over " + std::to_string(found.order.width) +
                        " operators, which are too large here; use --search optcnn, which then groups operators of a "
                        "kind, or mcmc");
    }
    return compared(p, r, "variable elimination", costs.strategy_of(found.choice));
}

ts::strategy searched(const problem& p, const request& r) {
    ts::search::coarse_search_options how;
    how.search.chain.budget = r.proposals;
    how.search.chain.seed = r.seed;
    how.search.chain.milliseconds_per_gigabyte = r.byte_price;
    how.search.chain.lowering.update = p.update;
    how.search.drop_slow_starts = true;
    how.search.most_chains = 4;
    how.most_proposals = r.proposals;
    how.chains = 4;
    how.search.interrupted = &interruptible::flag();
    const interruptible while_searching;
    how.search.threads = ts::search_threads();
    std::optional<ts::io::file_journal> journal;
    if (!r.resume.empty()) {
        journal.emplace(r.resume);
    }
    std::vector<ts::search::named_strategy> starts;
    {
        const ts::io::waiting sign("experts' strategies");
        starts = ts::search::hand_designed(p.network, p.on);
    }
    ts::io::progress_options shown;
    shown.unit = "proposals";
    // Parts of the machine are searched too, with as many proposals as that takes.
    ts::io::progress_bar bar("searching", 0, shown);
    const auto report = [&](const ts::search::search_progress& now) {
        bar.advance(now.made - bar.done(), now.best_cost == INT64_MAX
                                               ? "nothing fits yet"
                                               : "best " + std::to_string(now.best_cost / 1000) +
                                                     (r.byte_price > 0 ? " us with the price of bytes" : " us"));
    };
    return ts::search::coarse_search(p.network, p.on, std::move(starts), how, report, journal ? &*journal : nullptr)
        .best;
}

ts::strategy piped(const problem& p, const std::string& name, const request& r) {
    const int devices = p.on.devices();
    const int stages = r.stages > 0 ? r.stages : devices;
    if (devices % stages != 0) {
        throw ts::error(std::to_string(stages) + " stages do not divide " + std::to_string(devices) +
                        " devices; give --stages");
    }
    const int micro_batches = r.micro_batches > 1 ? r.micro_batches : 2 * stages;
    const auto times = ts::search::operator_times(p.network, p.on.class_of(0));
    const std::vector<int> stage = ts::schedule::balance_stages(times, stages);
    const ts::pipeline_schedule order = name == "gpipe"  ? ts::schedule::gpipe(stages, micro_batches)
                                        : name == "1f1b" ? ts::schedule::one_forward_one_backward(stages, micro_batches)
                                                         : ts::schedule::zero_bubble_h1(stages, micro_batches);
    return ts::search::pipeline(p.network, stage, order, devices / stages);
}

} // namespace

const std::vector<search_kind>& search_kinds() {
    static const std::vector<search_kind> all = {
        {"mcmc",
         "FlexFlow's Markov chains, parts of the machine first, from experts' strategies, priced by simulation"},
        {"fit", "the fastest that fits: schedule, micro-batches, stages, what is inside them, re-materialization"},
        {"optcnn", "OptCNN's eliminations under the additive model; a baseline where one is faster, or --faithful"},
        {"elimination", "the same exactly by variable elimination, for networks that OptCNN's rules leave large"},
        {"data", "data parallel"},
        {"model", "model parallel"},
        {"one-weird-trick", "convolutions by samples, linear layers by channels"},
        {"single", "one device"},
        {"mesh", "nodes by samples, devices of a node by channels"},
        {"megatron", "Megatron-LM's splits of pairs of linear layers within nodes"},
        {"placement", "operators placed one after the other within nodes"},
        {"gpipe", "a pipeline of --stages and --micro-batches, all forward first"},
        {"1f1b", "a pipeline, one forward, one backward"},
        {"zero-bubble", "a pipeline, ZB-H1"},
    };
    return all;
}

void require_search(const std::string& name) {
    std::vector<std::string> names;
    for (const search_kind& s : search_kinds()) {
        names.push_back(s.name);
    }
    if (std::find(names.begin(), names.end(), name) == names.end()) {
        throw ts::error("there is no search '" + name + "'" + ts::did_you_mean(name, names) + "; --list names them");
    }
}

ts::strategy find_strategy(const problem& p, const std::string& name, const request& r) {
    const int devices = p.on.devices();
    int per_node = 0;
    for (int d = 0; d < devices; ++d) {
        per_node += p.on.node_of(d) == p.on.node_of(0) ? 1 : 0;
    }
    per_node = devices % per_node == 0 ? per_node : 1;
    ts::strategy s;
    require_search(name);
    if (name == "fit") {
        return fitted(p, r);
    }
    if (name == "mcmc") {
        s = searched(p, r);
    } else if (name == "optcnn") {
        s = modelled(p, r);
    } else if (name == "elimination") {
        s = eliminated(p, r);
    } else if (name == "data") {
        s = ts::search::data_parallel(p.network, devices);
    } else if (name == "model") {
        s = ts::search::model_parallel(p.network, devices);
    } else if (name == "one-weird-trick") {
        s = ts::search::one_weird_trick(p.network, devices);
    } else if (name == "single") {
        s = ts::search::single_device(p.network);
    } else if (name == "mesh") {
        s = ts::search::mesh(p.network, devices / per_node, per_node);
    } else if (name == "megatron") {
        s = ts::search::megatron(p.network, devices / per_node, per_node);
    } else if (name == "placement") {
        s = ts::search::operator_placement(p.network, devices / per_node, per_node);
    } else {
        s = piped(p, name, r);
    }
    if (r.micro_batches > 1 && s.schedule.stages == 0) {
        s.micro_batches = r.micro_batches;
    }
    for (ts::configuration& c : s.ops) {
        c.recompute = c.recompute || r.recompute;
        c.uneven = c.uneven || s.micro_batches > 1;
    }
    return s;
}

} // namespace planner
