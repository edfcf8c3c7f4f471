// SPDX-License-Identifier: Apache-2.0
// Search from coarse to fine: first what one node would do if all nodes did the same, then several nodes, then the
// whole machine.
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
    /// Proposals of a chain on one of n parts: its budget times 10 n, since each costs so much less and most is found
    /// there, but at most so many. Its limits of work are those of a chain on the whole machine.
    std::int64_t most_proposals = 300;
    int rounds = 4; ///< on a part
    int chains = 2; ///< on a part
};

/// Keeps the searches that a coarse search consists of, so that an interrupted one goes on: the same, number by number,
/// in the same order. This one keeps nothing.
struct search_journal {
    search_journal() = default;
    search_journal(const search_journal&) = delete;
    search_journal& operator=(const search_journal&) = delete;
    virtual ~search_journal() = default;

    /// The state in which the search of this number was left; nullopt where it has not begun.
    virtual std::optional<search_state> load(std::size_t, const graph_view&, const cluster&, const mcmc_options&);
    /// Called when a search begins, after every round, and when it is interrupted.
    virtual void save(std::size_t, const search_state&, const graph_view&, const cluster&, const mcmc_options&) {}

    /// Begins search `number` or goes on with it, to its end or until it is interrupted.
    search_state run(std::size_t number, const graph_view& g, const cluster& on, std::vector<named_strategy> starts,
                     const parallel_search_options& o, search_report report,
                     std::optional<mcmc_result>* result = nullptr);
};

namespace detail {

/// Reports a search that follows others, which made so many proposals.
struct progress_after {
    std::int64_t made;
    search_report report;
    void operator()(const search_progress& p) const { report({made + p.made, made + p.budget, p.best_cost}); }
};

} // namespace detail

/// Searches parts of a machine one after the other. A part's strategy is priced with gradients that are summed over all
/// parts (task_times::parts), so that a proposal costs what it would on a machine of the part's size.
class part_search {
public:
    /// The journal must outlive the object; null: none is kept.
    part_search(const graph_view& g, const cluster& on, const coarse_search_options& o,
                search_journal* journal = nullptr);

    /// The best that is found for every part, repeated over the whole machine; of the last part also what its other
    /// chains found, with the devices renumbered.
    std::vector<named_strategy> run(search_report report);

    /// Proposals of all parts so far.
    std::int64_t made() const { return made_; }
    /// Searches so far.
    std::size_t searches() const { return searches_; }
    /// The last one stopped before its end, or more were to come.
    bool interrupted() const { return interrupted_; }

private:
    graph part_of_network(int devices) const;
    std::string found_on(int devices) const;
    void add(int devices, std::vector<named_strategy>& found) const;
    /// What cost nearly the same on the part may cost much less or more when it is turned.
    void add_others_turned(std::vector<named_strategy>& to) const;

    /// The last strategy with its devices renumbered: what lay within nodes lies across them, and the other way round.
    /// No sequence of small changes leads there.
    void add_turned(std::vector<named_strategy>& to, const graph_view& g, int devices) const;

    /// One device of each of four nodes: whether layers should lie on different nodes.
    void across(search_report report, std::vector<named_strategy>& found);

    /// Layers side by side, where operators may be placed apart.
    void add_side_by_side(std::vector<named_strategy>& starts, const graph_view& part, const cluster& on,
                          int devices) const;
    std::vector<named_strategy> first_starts(const graph_view& part, const cluster& on, int devices) const;
    /// The best for a part, then what other chains found of other cost; none if nothing fits in memory.
    std::vector<strategy> search(const graph_view& part, const cluster& on, int devices,
                                 const std::vector<named_strategy>& starts, search_report report);

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

/// The best that is found for every part of parts_to_search(), and across four nodes, repeated over the whole machine:
/// starts of a search there. Depends on the options alone, not on threads. Pins play no role here; the search of the
/// whole machine puts them in. For a machine without such parts no more than layers side by side. `report` as
/// parallel_search's, with the proposals for all parts together.
std::vector<named_strategy> search_parts(const graph_view& g, const cluster& on, const coarse_search_options& options,
                                         search_report report = {});

/// search_parts(), then a parallel_search of the whole machine from the starts that are given and from what that found.
/// `report` as parallel_search's, with the proposals of all together. Interrupted
/// (parallel_search_options::interrupted), it returns the best of what it has, starts included; with a journal the same
/// call goes on later and finds what it would have found. Throws what parallel_search throws.
mcmc_result coarse_search(const graph_view& g, const cluster& on, std::vector<named_strategy> starts,
                          const coarse_search_options& options, search_report report = {},
                          search_journal* journal = nullptr);

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

#ifndef TESSERA_COMPILED
#include "tessera/search/coarse/coarse_search.inl"
#endif

#include "tessera/base/end_header.inl"
