// SPDX-License-Identifier: Apache-2.0
// What the papers' tables share: a strategy's simulated step and traffic, and the one place that searches.
#pragma once

#include "benchmarks/support/by_name.hpp"
#include "benchmarks/support/search_rule.hpp"
#include "benchmarks/support/timing.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/search/optcnn/optcnn.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace papers {

namespace ts = tessera;
namespace search = tessera::search;
using benchmarks::found_by;
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
        const auto tile = [&](int i) -> const ts::tile& { return p.tiles[ts::to_size(i)]; };
        for (const ts::copy_segment& c : x.copy().segments) {
            count(tile(c.source).device, x.device, c.region.volume() * ts::bytes_of(tile(c.source).type));
        }
        if (x.kind() == ts::task_kind::update) {
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
    return {name, std::move(s), is};
}
/// The same of the library's search of a name, by its title.
inline row row_of(std::string_view search, const ts::graph_view& g, const ts::cluster& on,
                  const ts::simulation::task_times& times = {}) {
    return make_row(g, on, std::string(search::quick_search_named(search).title), found_by(search, g, on), times);
}

/// FlexFlow's search from the strategies given, parts of the machine first; `work` as search_rule's, `byte_price` in ms
/// per GB.
inline row searched(const ts::graph_view& g, const ts::cluster& on, const std::vector<row>& given, double work,
                    const ts::simulation::task_times& times = {}, double byte_price = 0) {
    search::coarse_search_options o = benchmarks::search_rule{.work = work}.options(on.devices());
    o.search.chain.times = times;
    o.search.chain.milliseconds_per_gigabyte = byte_price;
    o.search.chain.proposals.memory_limit = false; // the papers' searches knew none
    const auto begin = benchmarks::clock_type::now();
    std::vector<search::named_strategy> starts;
    for (const row& r : given) {
        starts.push_back({r.name, r.value});
    }
    std::int64_t made = 0;
    const search::mcmc_result found = search::coarse_search(
        g, on, std::move(starts), o, [&made](const search::search_progress& p) { made = p.made; });
    char how[100];
    std::snprintf(how, sizeof(how), "%s, %lld proposals, %.0f s", found.chains[0].start.c_str(),
                  static_cast<long long>(made), benchmarks::milliseconds_since(begin) * 1e-3);
    row r = make_row(g, on, how, found.best, times);
    const double priced = static_cast<double>(found.cost) * 1e-6;
    const double whole = r.is.ms + byte_price * r.is.moved_gb;
    if (std::abs(whole - priced) > 1e-3) {
        std::fprintf(stderr, "the search priced its strategy at %f ms, the whole plan costs %f\n", priced, whole);
        std::exit(1);
    }
    return r;
}

} // namespace papers
