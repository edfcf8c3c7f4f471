// SPDX-License-Identifier: Apache-2.0
// Bodies of coarse_search.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/coarse/coarse_search.hpp"

namespace tessera::search {

TESSERA_INLINE std::optional<search_state> search_journal::load(std::size_t, const graph_view&, const cluster&,
                                                                const mcmc_options&) {
    return std::nullopt;
}

TESSERA_INLINE search_state search_journal::run(std::size_t number, const graph_view& g, const cluster& on,
                                                std::vector<named_strategy> starts, const parallel_search_options& o,
                                                search_report report, std::optional<mcmc_result>* result) {
    std::optional<search_state> before = load(number, g, on, o.chain);
    const bool is_new = !before;
    parallel_search search =
        before ? parallel_search(g, on, std::move(*before), o) : parallel_search(g, on, std::move(starts), o);
    const auto keep = [&] { save(number, search.state(), g, on, o.chain); };
    if (is_new) {
        keep(); // what follows a search that is done stays
    }
    while (!search.finished() && !search.interrupted()) {
        search.run_round(report);
        keep();
    }
    if (result != nullptr) {
        *result = search.result();
    }
    return search.state();
}

TESSERA_INLINE part_search::part_search(const graph_view& g, const cluster& on, const coarse_search_options& o,
                                        search_journal* journal)
    : on_(on), g_(g), options_(o), journal_(journal != nullptr ? *journal : none_), per_node_(devices_of_node(on)) {}

TESSERA_INLINE std::vector<named_strategy> part_search::run(search_report report) {
    const std::vector<int> parts = parts_to_search(on_, g_.tensors[0].extents[0]);
    std::vector<named_strategy> found;
    for (const int devices : parts) {
        if (options_.search.is_interrupted()) {
            interrupted_ = true;
            break;
        }
        const graph small = part_of_network(devices);
        if (devices == per_node_) {
            best_ = search(small.view(), on_, devices, first_starts(small.view(), on_, devices), report);
            add(devices, found);
            across(report, found);
        } else {
            std::vector<named_strategy> starts{{"data parallel", data_parallel(small.view(), devices)}};
            if (!best_.empty()) {
                starts.push_back({"one node", repeated(small.view(), before_, best_[0], devices / before_)});
                add_turned(starts, small.view(), devices);
            }
            if (!across_.empty()) {
                const int nodes = devices / per_node_; // four: the first part of several nodes
                const strategy s = repeated(small.view(), nodes, across_[0], per_node_);
                starts.push_back({"across nodes", in_old_numbers(small.view(), s, across_nodes(devices, per_node_))});
                across_.clear();
                add_turned(starts, small.view(), devices);
            }
            add_side_by_side(starts, small.view(), on_, devices);
            best_ = search(small.view(), on_, devices, starts, report);
            add(devices, found);
        }
        before_ = best_.empty() ? before_ : devices;
    }
    if (!found.empty()) {
        add_turned(found, g_, on_.devices());
        add_others_turned(found);
    } else if (parts.empty()) {
        add_side_by_side(found, g_, on_, on_.devices());
    }
    return found;
}

TESSERA_INLINE graph part_search::part_of_network(int devices) const {
    return with_batch(g_, g_.tensors[0].extents[0] / (on_.devices() / devices));
}

TESSERA_INLINE std::string part_search::found_on(int devices) const {
    return "found on " + std::to_string(devices) + " of " + std::to_string(on_.devices());
}

TESSERA_INLINE void part_search::add(int devices, std::vector<named_strategy>& found) const {
    if (!best_.empty()) {
        found.push_back({found_on(devices), repeated(g_, devices, best_[0], on_.devices() / devices)});
    }
}

TESSERA_INLINE void part_search::add_others_turned(std::vector<named_strategy>& to) const {
    for (std::size_t i = 1; i < best_.size(); ++i) {
        const strategy whole = repeated(g_, before_, best_[i], on_.devices() / before_);
        std::vector<named_strategy> turned{{found_on(before_) + " (" + std::to_string(i + 1) + ")", whole}};
        add_turned(turned, g_, on_.devices());
        std::move(turned.begin() + 1, turned.end(), std::back_inserter(to));
    }
}

TESSERA_INLINE void part_search::add_turned(std::vector<named_strategy>& to, const graph_view& g, int devices) const {
    const named_strategy last = to.back();
    const int nodes = devices / per_node_;
    to.push_back({last.name + ", turned", in_old_numbers(g, last.value, across_nodes(devices, per_node_))});
    if (nodes != per_node_) {
        to.push_back({last.name + ", turned back", in_old_numbers(g, last.value, across_nodes(devices, nodes))});
    }
}

TESSERA_INLINE void part_search::across(search_report report, std::vector<named_strategy>& found) {
    constexpr int nodes = 4;
    if (on_.devices() % (nodes * per_node_) != 0) {
        return;
    }
    const std::vector<int> order = across_nodes(on_.devices(), per_node_);
    const cluster across_them(renumbered(on_.graph(), order));
    if (!is_part(across_them, nodes)) {
        return;
    }
    const graph small = part_of_network(nodes);
    across_ = search(small.view(), across_them, nodes, first_starts(small.view(), across_them, nodes), report);
    if (!across_.empty()) {
        const strategy whole = repeated(g_, nodes, across_[0], on_.devices() / nodes);
        found.push_back({"found across 4 nodes", in_old_numbers(g_, whole, order)});
    }
}

TESSERA_INLINE void part_search::add_side_by_side(std::vector<named_strategy>& starts, const graph_view& part,
                                                  const cluster& on, int devices) const {
    proposal_options o = options_.search.chain.proposals;
    o.devices = devices;
    o.pinned.clear();
    if (o.operator_placement && o.groups) {
        for (named_strategy& s : layers_side_by_side({part, on, o}, data_parallel(part, devices))) {
            starts.push_back(std::move(s));
        }
    }
}

TESSERA_INLINE std::vector<named_strategy> part_search::first_starts(const graph_view& part, const cluster& on,
                                                                     int devices) const {
    std::vector<named_strategy> starts{{"data parallel", data_parallel(part, devices)},
                                       {"channels", mesh(part, 1, devices)}};
    if (options_.search.chain.proposals.operator_placement) {
        starts.push_back({"operators placed", operator_placement(part, 1, devices)});
    }
    add_side_by_side(starts, part, on, devices);
    optcnn_options o;
    o.offered = options_.search.chain.proposals.offered;
    starts.push_back(
        {"OptCNN", grouped_optcnn(part, uniform_machine(on, part.ops[0].attributes.math, devices), o).best});
    return starts;
}

TESSERA_INLINE std::vector<strategy> part_search::search(const graph_view& part, const cluster& on, int devices,
                                                         const std::vector<named_strategy>& starts,
                                                         search_report report) {
    parallel_search_options o = options_.search;
    o.chain.proposals.devices = devices;
    o.chain.proposals.pinned.clear();
    o.pins = nullptr;
    o.chain.times.parts = on.devices() / devices;
    const std::int64_t more = std::int64_t{10} * o.chain.times.parts;
    o.chain.budget = std::min(options_.most_proposals, o.chain.budget * more);
    if (o.chain.stop == stop_rule::flexflow) { // by work the same rule holds for all sizes
        o.chain.patience = std::min(o.chain.budget, o.chain.patience * more);
    }
    o.rounds = options_.rounds;
    o.random_starts = 0;
    o.drop_slow_starts = true;
    o.most_chains = options_.chains;
    const detail::progress_after after{made_, report};
    const search_state state = journal_.run(searches_++, part, on, starts, o, report ? search_report(after) : report);
    interrupted_ = interrupted_ || !state.finished;
    const std::vector<named_chain>& chains = state.chains;
    std::vector<std::pair<index_t, std::size_t>> by_cost;
    for (std::size_t i = 0; i < chains.size(); ++i) {
        made_ += chains[i].state.made;
        if (!chains[i].state.improvements.empty()) {
            by_cost.emplace_back(chains[i].state.best_cost(), i);
        }
    }
    std::sort(by_cost.begin(), by_cost.end());
    std::vector<strategy> found;
    index_t last = 0;
    for (const auto& [cost, i] : by_cost) {
        if (found.empty() || (chains[i].state.made > 0 && cost != last)) {
            found.push_back(chains[i].state.improvements.back().value);
            last = cost;
        }
    }
    return found;
}

TESSERA_INLINE std::vector<named_strategy> search_parts(const graph_view& g, const cluster& on,
                                                        const coarse_search_options& options, search_report report) {
    return part_search(g, on, options).run(report);
}

TESSERA_INLINE mcmc_result coarse_search(const graph_view& g, const cluster& on, std::vector<named_strategy> starts,
                                         const coarse_search_options& options, search_report report,
                                         search_journal* journal) {
    part_search parts(g, on, options, journal);
    for (named_strategy& s : parts.run(report)) {
        starts.push_back(std::move(s));
    }
    // What was found on parts so far is priced on the whole, but that is not where the search goes on.
    search_journal none;
    search_journal& keep = parts.interrupted() || journal == nullptr ? none : *journal;
    const detail::progress_after after{parts.made(), report};
    std::optional<mcmc_result> found;
    keep.run(parts.searches(), g, on, std::move(starts), options.search, report ? search_report(after) : report,
             &found);
    return std::move(*found);
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
