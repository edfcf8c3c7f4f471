// SPDX-License-Identifier: Apache-2.0
// What the papers' tables share: a strategy's simulated step and traffic, and the one place that searches.
#pragma once

#include "benchmarks/support/timing.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/search/mcmc.hpp"
#include "tessera/search/optcnn.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace papers {

namespace ts = tessera;
namespace search = tessera::search;
using ts::index_t;

/// One step of a strategy as the simulator predicts it.
struct step {
    double ms = 0;
    double moved_gb = 0;   ///< bytes that cross between devices; gradients of one device are added up before they cross
    double between_gb = 0; ///< of them, from node to node
    double compute_ms = 0; ///< of all devices together
};

inline step simulated(const ts::graph_view& g, const ts::strategy& s, const ts::cluster& on,
                      const ts::simulation::task_times& times = {}) {
    const ts::plan p = ts::lower(g, s.view(), on.devices());
    const ts::simulation::timeline t = ts::simulation::simulate(g, p, on, times);
    step r;
    r.ms = static_cast<double>(t.makespan) * 1e-6;
    for (const index_t busy : t.device_busy) {
        r.compute_ms += static_cast<double>(busy) * 1e-6;
    }
    const auto count = [&](int source, int target, index_t bytes) {
        if (source >= 0 && source != target) {
            r.moved_gb += static_cast<double>(bytes) * 1e-9;
            r.between_gb += on.node_of(source) != on.node_of(target) ? static_cast<double>(bytes) * 1e-9 : 0;
        }
    };
    std::vector<int> from;
    for (const ts::task& x : p.tasks) {
        const auto tile = [&](int i) -> const ts::tile& { return p.tiles[static_cast<std::size_t>(i)]; };
        for (const ts::copy_segment& c : x.segments) {
            count(tile(c.source).device, x.device, c.region.volume() * ts::bytes_of(tile(c.source).type));
        }
        if (x.kind == ts::task_kind::update) {
            from.clear();
            for (const int i : x.reads) {
                if (std::find(from.begin(), from.end(), tile(i).device) == from.end()) {
                    from.push_back(tile(i).device);
                    count(tile(i).device, x.device, ts::simulation::tile_bytes(tile(i), x));
                }
            }
            for (const int i : x.writes) {
                count(x.device, tile(i).device, ts::simulation::tile_bytes(tile(i), x));
            }
        }
    }
    return r;
}

/// A named strategy and its step.
struct row {
    std::string name;
    ts::strategy value;
    step is;
};

inline row make_row(const ts::graph_view& g, const ts::cluster& on, const std::string& name, ts::strategy s,
                    const ts::simulation::task_times& times = {}) {
    const step is = simulated(g, s, on, times);
    return {name, static_cast<ts::strategy&&>(s), is};
}

/// FlexFlow's search from the strategies given, for so many seconds of one core. A better driver goes here.
inline row searched(const ts::graph_view& g, const ts::cluster& on, std::vector<row> starts, double seconds,
                    const ts::simulation::task_times& times = {}) {
    std::sort(starts.begin(), starts.end(), [](const row& a, const row& b) { return a.is.ms < b.is.ms; });
    starts.resize(starts.size() > 2 ? 2 : starts.size());
    search::mcmc_options o;
    o.budget = INT64_MAX;
    o.patience = INT64_MAX;
    o.times = times;
    o.proposals.memory_limit = false; // the papers' searches knew none
    std::vector<search::mcmc_chain> chains;
    chains.reserve(starts.size());
    for (const row& s : starts) {
        ++o.seed;
        chains.emplace_back(on, g, s.value, o);
    }
    const auto begin = benchmarks::clock_type::now();
    std::size_t best = 0;
    while (benchmarks::milliseconds_since(begin) < seconds * 1000) {
        for (std::size_t i = 0; i < chains.size(); ++i) {
            chains[i].run(5);
            best = chains[i].best_cost() < chains[best].best_cost() ? i : best;
        }
    }
    std::int64_t made = 0;
    for (const search::mcmc_chain& c : chains) {
        made += c.made();
    }
    row r = make_row(g, on, "from " + starts[best].name + ", " + std::to_string(made) + " proposals",
                     chains[best].best(), times);
    const double priced = static_cast<double>(chains[best].best_cost()) * 1e-6;
    if (std::abs(r.is.ms - priced) > 1e-3) {
        std::fprintf(stderr, "the search priced its strategy at %f ms, the whole plan takes %f\n", priced, r.is.ms);
        std::exit(1);
    }
    return r;
}

} // namespace papers
