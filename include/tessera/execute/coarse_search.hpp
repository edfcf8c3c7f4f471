// SPDX-License-Identifier: Apache-2.0
// Search from coarse to fine: first what one node would do if all nodes did the same, then several nodes, then the whole machine.
#pragma once

#include "tessera/execute/parallel_search.hpp"
#include "tessera/search/parts.hpp"
#include "tessera/search/tied.hpp"

namespace tessera::search {

struct coarse_search_options {
    parallel_search_options search; ///< of the whole machine
    /// Proposals of a chain on one of n parts: its budget times n * n / 2, since each costs so much less, but at most so many.
    std::int64_t most_proposals = 2000;
    int rounds = 4;          ///< on a part
    int chains = 2;          ///< on a part
    bool with_optcnn = true; ///< OptCNN's model of one node is a start there
};

namespace detail {

/// The uniform machine of a part's devices: its links alone.
inline machine machine_of_part(const cluster& on, int devices) {
    machine m = uniform_machine(on);
    m.devices = devices;
    m.link_megabytes = m.link_latency = 0;
    for (int a = 0; a < devices; ++a) {
        for (int b = 0; b < devices; ++b) {
            if (a != b) {
                const route r = on.between(a, b);
                m.link_latency = std::max(m.link_latency, r.latency);
                m.link_megabytes = m.link_megabytes > 0 ? std::min(m.link_megabytes, r.megabytes) : r.megabytes;
            }
        }
    }
    return m;
}

} // namespace detail

/// The best that is found for every part of parts_to_search(), repeated over the whole machine: starts of a search there. A part's strategy is priced with gradients that are
/// summed over all parts (task_times::parts), so that a proposal costs what it would on a machine of the part's size. Depends on the options alone,
/// not on threads. Pins play no role here; the search of the whole machine puts them in. Empty for a machine without such parts. `report` as
/// parallel_search's.
inline std::vector<named_strategy> search_parts(const cluster& on, const graph_view& g,
                                                const coarse_search_options& options,
                                                const std::function<void(const search_progress&)>& report = {}) {
    std::vector<named_strategy> found;
    const index_t batch = g.tensors[0].extents[0];
    std::vector<named_strategy> from_before;
    int before = 0;
    for (const int devices : parts_to_search(on, batch)) {
        const int copies = on.devices() / devices;
        const graph small = with_batch(g, batch / copies);
        const graph_view part = small.view();
        parallel_search_options o = options.search;
        o.chain.proposals.devices = devices;
        o.chain.proposals.pinned.clear();
        o.pins = nullptr;
        o.chain.times.parts = copies;
        const std::int64_t more = std::int64_t{copies} * copies / 2;
        o.chain.budget = std::min(options.most_proposals, o.chain.budget * more);
        o.chain.patience = std::min(o.chain.budget, o.chain.patience * more);
        o.rounds = options.rounds;
        o.random_starts = 0;
        o.drop_slow_starts = true;
        o.most_chains = options.chains;
        std::vector<named_strategy> starts{{"data parallel", data_parallel(part, devices)}};
        if (before == 0) {
            if (o.chain.proposals.operator_placement) {
                starts.push_back({"operators placed", operator_placement(part, 1, devices)});
            }
            starts.push_back({"channels", mesh(part, 1, devices)});
            if (options.with_optcnn) {
                optcnn_options offered;
                offered.offered = o.chain.proposals.offered;
                starts.push_back({"OptCNN", tied_optcnn(part, detail::machine_of_part(on, devices), offered).best});
            }
        }
        for (const named_strategy& s : from_before) {
            starts.push_back({s.name, repeated(s.value, part, before, devices / before)});
        }
        parallel_search search(on, part, starts, o);
        while (!search.finished()) {
            search.run_round(report);
        }
        const mcmc_state* best = nullptr;
        for (const named_chain& c : search.state().chains) {
            best = best == nullptr || c.state.best_cost() < best->best_cost() ? &c.state : best;
        }
        if (best->improvements.empty()) { // nothing that fits in memory
            continue;
        }
        const std::string name = "found on " + std::to_string(devices) + " of " + std::to_string(on.devices());
        from_before.assign(1, {name, best->improvements.back().value});
        before = devices;
        found.push_back({name, repeated(best->improvements.back().value, g, devices, copies)});
    }
    return found;
}

} // namespace tessera::search
