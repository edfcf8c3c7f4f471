// SPDX-License-Identifier: Apache-2.0
// Never worse than the obvious, for searches that model costs: what was found is simulated beside what everybody knows,
// and the fastest is returned, by name.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/number_text.hpp"
#include "tessera/search/by_hand/hand_designed.hpp"
#include "tessera/search/finished_step.hpp"
#include "tessera/strategy/change.hpp"

#include <cstdio>
#include <string>

namespace tessera::search {

struct compare_options {
    bool faithful =
        false; ///< to the paper: what the search found is returned in any case; shortfall() says what that costs
    bool memory_limit = true; ///< what does not fit in the devices' memory is returned only where nothing does
    simulation::task_times times{};
    lower_options lowering{};
};

/// A strategy simulated on a device graph, finished.
struct compared_strategy {
    std::string name;
    strategy value;
    finished_step step;
    std::string refused{}; ///< the rule that it breaks there
};

/// What a search found, and the baselines beside it.
struct compared_search {
    std::vector<compared_strategy> all; ///< what was found first, then the baselines
    std::size_t returned = 0;           ///< which of them is the result
    std::size_t fastest = 0;            ///< of those that can be returned; the same unless the search is faithful

    const compared_strategy& result() const { return all[returned]; }
    const strategy& best() const { return result().value; }
    /// ns by which what was found is slower than the fastest; 0 if it is that.
    index_t shortfall() const { return all[0].step.makespan - all[fastest].step.makespan; }
};

/// Simulates what a search found, the baselines among the strategies designed by hand that apply to the machine and, of several nodes, data
/// parallelism on one, and chooses. Throws tessera::error where what was found breaks a rule.
inline compared_search compare_with_baselines(const graph_view& g, const cluster& on, const std::string& name,
                                              const strategy& found, const compare_options& o = {}) {
    require(g, found.view(), on.devices());
    compared_search r;
    const auto add = [&](const std::string& called, const strategy& s) {
        for (const compared_strategy& other : r.all) {
            if (is_same(other.value, s)) {
                return;
            }
        }
        compared_strategy x{called, s, {}};
        try {
            require(g, s.view(), on.devices());
            x.step = simulate_finished(g, on, s, o.times, o.lowering);
        } catch (const error& e) {
            x.refused = e.what();
        }
        r.all.push_back(static_cast<compared_strategy&&>(x));
    };
    add(name, found);
    if (!r.all[0].refused.empty()) {
        throw error(r.all[0].refused);
    }
    int node = 1;
    while (node < on.devices() && on.node_of(node) == on.node_of(0)) {
        ++node;
    }
    for (const search_record* b : designed_strategies) {
        if (b->is_baseline && applies(*b, g, on)) {
            add(std::string(b->title), b->run(g, on, {}).best);
        }
    }
    if (node > 1 && node < on.devices()) {
        add("data parallel on one node", data_parallel(g, node));
    }
    for (std::size_t i = 1; i < r.all.size(); ++i) {
        const compared_strategy& x = r.all[i];
        const compared_strategy& best = r.all[r.fastest];
        const bool may = x.step.fits || !o.memory_limit || !best.step.fits;
        const bool lacks = o.memory_limit && !best.step.fits && x.step.fits;
        if (x.refused.empty() && may && (lacks || x.step.makespan < best.step.makespan)) {
            r.fastest = i;
        }
    }
    r.returned = o.faithful ? 0 : r.fastest;
    return r;
}

/// Which was returned, and a line for each with its step.
inline std::string to_text(const compared_search& r) {
    std::string text = "returned: " + r.result().name + "\n";
    for (std::size_t i = 0; i < r.all.size(); ++i) {
        const compared_strategy& x = r.all[i];
        char line[200];
        print_to(line, sizeof line, "%s %-28s %12.3f ms a step%s", i == r.returned ? ">" : " ", x.name.c_str(),
                 static_cast<double>(x.step.makespan) * 1e-6, x.step.fits ? "" : ", which does not fit");
        text += x.refused.empty() ? std::string(line) + "\n" : "  " + x.name + ": refused: " + x.refused + "\n";
    }
    if (r.shortfall() > 0) {
        char line[200];
        print_to(line, sizeof line, "%s is %.3f ms a step slower than %s\n", r.all[0].name.c_str(),
                 static_cast<double>(r.shortfall()) * 1e-6, r.all[r.fastest].name.c_str());
        text += line;
    }
    return text;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
