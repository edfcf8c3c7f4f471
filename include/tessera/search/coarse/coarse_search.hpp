// SPDX-License-Identifier: Apache-2.0
// Search from coarse to fine: first what one node would do if all nodes did the same, then several nodes, then the whole machine.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/by_hand/side_by_side.hpp"
#include "tessera/search/coarse/parts.hpp"
#include "tessera/search/mcmc/parallel.hpp"
#include "tessera/search/optcnn/grouped.hpp"

#include <optional>

namespace tessera::search {

struct coarse_search_options {
    parallel_search_options search; ///< of the whole machine
    /// Proposals of a chain on one of n parts: its budget times 10 n, since each costs so much less and most is found there, but at most so many. Its limits of work are
    /// those of a chain on the whole machine.
    std::int64_t most_proposals = 300;
    int rounds = 4; ///< on a part
    int chains = 2; ///< on a part
};

/// Keeps the searches that a coarse search consists of, so that an interrupted one goes on: the same, number by number, in the same order. This one
/// keeps nothing.
struct search_journal {
    search_journal() = default;
    search_journal(const search_journal&) = delete;
    search_journal& operator=(const search_journal&) = delete;
    virtual ~search_journal() = default;

    /// The state in which the search of this number was left; nullopt where it has not begun.
    virtual std::optional<search_state> load(std::size_t, const graph_view&, const cluster&, const mcmc_options&) {
        return std::nullopt;
    }
    /// Called when a search begins, after every round, and when it is interrupted.
    virtual void save(std::size_t, const search_state&, const graph_view&, const cluster&, const mcmc_options&) {}

    /// Begins search `number` or goes on with it, to its end or until it is interrupted.
    search_state run(std::size_t number, const graph_view& g, const cluster& on, std::vector<named_strategy> starts,
                     const parallel_search_options& o, search_report report,
                     std::optional<mcmc_result>* result = nullptr) {
        std::optional<search_state> before = load(number, g, on, o.chain);
        const bool is_new = !before;
        parallel_search search =
            before ? parallel_search(g, on, std::move(*before), o) : parallel_search(g, on, std::move(starts), o);
        const auto keep = [&] { save(number, search.state(), g, on, o.chain); };
        is_new ? keep() : void(); // what follows a search that is done stays
        while (!search.finished() && !search.interrupted()) {
            search.run_round(report);
            keep();
        }
        if (result != nullptr) {
            *result = search.result();
        }
        return search.state();
    }
};

namespace detail {

/// Reports a search that follows others, which made so many proposals.
struct progress_after {
    std::int64_t made;
    search_report report;
    void operator()(const search_progress& p) const { report({made + p.made, made + p.budget, p.best_cost}); }
};

} // namespace detail

/// Searches parts of a machine one after the other. A part's strategy is priced with gradients that are summed over all parts (task_times::parts), so that a proposal
/// costs what it would on a machine of the part's size.
class part_search {
public:
    /// The journal must outlive the object; null: none is kept.
    part_search(const graph_view& g, const cluster& on, const coarse_search_options& o,
                search_journal* journal = nullptr)
        : on_(on), g_(g), options_(o), journal_(journal != nullptr ? *journal : none_), per_node_(devices_of_node(on)) {
    }

    /// The best that is found for every part, repeated over the whole machine; of the last part also what its other chains found, with the devices renumbered.
    std::vector<named_strategy> run(search_report report) {
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
                    starts.push_back(
                        {"across nodes", in_old_numbers(small.view(), s, across_nodes(devices, per_node_))});
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

    /// Proposals of all parts so far.
    std::int64_t made() const { return made_; }
    /// Searches so far.
    std::size_t searches() const { return searches_; }
    /// The last one stopped before its end, or more were to come.
    bool interrupted() const { return interrupted_; }

private:
    graph part_of_network(int devices) const {
        return with_batch(g_, g_.tensors[0].extents[0] / (on_.devices() / devices));
    }
    std::string found_on(int devices) const {
        return "found on " + std::to_string(devices) + " of " + std::to_string(on_.devices());
    }
    void add(int devices, std::vector<named_strategy>& found) const {
        if (!best_.empty()) {
            found.push_back({found_on(devices), repeated(g_, devices, best_[0], on_.devices() / devices)});
        }
    }
    /// What cost nearly the same on the part may cost much less or more when it is turned.
    void add_others_turned(std::vector<named_strategy>& to) const {
        for (std::size_t i = 1; i < best_.size(); ++i) {
            const strategy whole = repeated(g_, before_, best_[i], on_.devices() / before_);
            std::vector<named_strategy> turned{{found_on(before_) + " (" + std::to_string(i + 1) + ")", whole}};
            add_turned(turned, g_, on_.devices());
            std::move(turned.begin() + 1, turned.end(), std::back_inserter(to));
        }
    }

    /// The last strategy with its devices renumbered: what lay within nodes lies across them, and the other way round. No sequence of small changes leads there.
    void add_turned(std::vector<named_strategy>& to, const graph_view& g, int devices) const {
        const named_strategy last = to.back();
        const int nodes = devices / per_node_;
        to.push_back({last.name + ", turned", in_old_numbers(g, last.value, across_nodes(devices, per_node_))});
        if (nodes != per_node_) {
            to.push_back({last.name + ", turned back", in_old_numbers(g, last.value, across_nodes(devices, nodes))});
        }
    }

    /// One device of each of four nodes: whether layers should lie on different nodes.
    void across(search_report report, std::vector<named_strategy>& found) {
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

    /// Layers side by side, where operators may be placed apart.
    void add_side_by_side(std::vector<named_strategy>& starts, const graph_view& part, const cluster& on,
                          int devices) const {
        proposal_options o = options_.search.chain.proposals;
        o.devices = devices;
        o.pinned.clear();
        if (o.operator_placement && o.groups) {
            for (named_strategy& s : layers_side_by_side({part, on, o}, data_parallel(part, devices))) {
                starts.push_back(std::move(s));
            }
        }
    }
    std::vector<named_strategy> first_starts(const graph_view& part, const cluster& on, int devices) const {
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
    /// The best for a part, then what other chains found of other cost; none if nothing fits in memory.
    std::vector<strategy> search(const graph_view& part, const cluster& on, int devices,
                                 const std::vector<named_strategy>& starts, search_report report) {
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
        const search_state state =
            journal_.run(searches_++, part, on, starts, o, report ? search_report(after) : report);
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

    const cluster& on_;
    graph_view g_;
    coarse_search_options options_;
    search_journal none_;
    search_journal& journal_;
    int per_node_;
    std::int64_t made_ = 0;
    std::size_t searches_ = 0;
    bool interrupted_ = false;
    int before_ = 0;             ///< devices of the part that was searched last
    std::vector<strategy> best_; ///< of that, the best first
    std::vector<strategy> across_;
};

/// The best that is found for every part of parts_to_search(), and across four nodes, repeated over the whole machine: starts of a search there. Depends on the options alone,
/// not on threads. Pins play no role here; the search of the whole machine puts them in. For a machine without such parts no more than layers side by side. `report` as
/// parallel_search's, with the proposals for all parts together.
inline std::vector<named_strategy> search_parts(const graph_view& g, const cluster& on,
                                                const coarse_search_options& options, search_report report = {}) {
    return part_search(g, on, options).run(report);
}

/// search_parts(), then a parallel_search of the whole machine from the starts that are given and from what that found. `report` as parallel_search's, with the
/// proposals of all together. Interrupted (parallel_search_options::interrupted), it returns the best of what it has, starts included; with a journal the same call goes
/// on later and finds what it would have found. Throws what parallel_search throws.
inline mcmc_result coarse_search(const graph_view& g, const cluster& on, std::vector<named_strategy> starts,
                                 const coarse_search_options& options, search_report report = {},
                                 search_journal* journal = nullptr) {
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

inline constexpr option_row proposals_option{"proposals", "of each chain of mcmc", 2000, 1, 100'000'000};
inline constexpr option_row seed_option{"seed", "of mcmc", 1, 0, 4'294'967'295};
inline constexpr option_row byte_price_option{
    "byte-price", "of mcmc: ms that a GB between devices costs beside the time that it takes", 0, 0, 1e6, false};

inline constexpr search_record mcmc_record{
    .name = "mcmc",
    .title = "MCMC",
    .about =
        "FlexFlow's Markov chains, parts of the machine first, from strategies designed by hand, priced by simulation",
    .run =
        [](const graph_view& g, const cluster& on, const search_options& o) {
            coarse_search_options how;
            how.search.chain.budget = how.most_proposals = o.values.as<std::int64_t>(proposals_option);
            how.search.chain.seed = o.values.as<std::uint64_t>(seed_option);
            how.search.chain.milliseconds_per_gigabyte = o.values[byte_price_option];
            how.search.chain.lowering = o.lowering;
            how.search.drop_slow_starts = true;
            how.search.most_chains = how.chains = 4;
            how.search.threads = o.threads;
            how.search.interrupted = o.interrupted;
            return search_found{coarse_search(g, on, hand_designed(g, on), how, o.report, o.journal).best};
        },
    .options = {proposals_option, seed_option, byte_price_option},
    .resumes = true,
    .unit = "proposals",
};

} // namespace tessera::search

#include "tessera/base/end_header.inl"
