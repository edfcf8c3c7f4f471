// SPDX-License-Identifier: Apache-2.0
// Tofu as a search that is chosen by name.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/number_text.hpp"
#include "tessera/search/optcnn/compared.hpp"
#include "tessera/search/tofu/timed.hpp"

#include <utility>

namespace tessera::search {

inline constexpr option_row slices_option{
    "slices", "1: tofu stores parameters in slices, as the paper does; 0: every shard keeps those that it needs", 1, 0,
    1};
inline constexpr option_row published_count_option{
    "published-count", "1: tofu counts every step by itself, as the paper does; 0: also what each device receives", 0,
    0, 1};
inline constexpr option_row tofu_simulations_option{
    "tofu-simulations", "of changes of what moves least, for a shorter simulated step; 0: none, as the paper", 0, 0,
    1'000'000};

/// What a recursion did, in two lines.
std::string to_text(const tofu_result& r);

namespace detail {

// A template so that it is compiled where it is used.
template <class Options>
search_found run_tofu(const graph_view& g, const cluster& on, const Options& o) {
    const node_grid grid = node_grid_of(on);
    tofu_options how;
    how.traffic.slices_parameters = o.values[slices_option] != 0;
    how.traffic.count = o.values[published_count_option] != 0 ? tofu_count::groups : tofu_count::devices;
    const int simulations = o.values.template as<int>(tofu_simulations_option);
    const tofu_steps steps = steps_for(grid.nodes, grid.per_node);
    std::string text;
    tofu_result found;
    if (simulations > 0) {
        tofu_timed timed = tofu_by_time(g, on, steps, how, simulations, o.lowering, o.interrupted);
        char line[120];
        print_to(line, sizeof line, "%d simulations: %.3f ms a step after %.3f\n", timed.simulated,
                 static_cast<double>(timed.after) * 1e-6, static_cast<double>(timed.before) * 1e-6);
        text = line;
        found = std::move(timed.found);
    } else {
        found =
            how.traffic.count == tofu_count::groups ? tofu_search(g, steps, how) : tofu_by_both_counts(g, steps, how);
    }
    return best_compared(g, on, "Tofu", found.best, o, text + to_text(found));
}

} // namespace detail

inline constexpr search_record tofu_record{
    .name = "tofu",
    .title = "Tofu",
    .about = "Tofu's recursion over the factors of the number of devices, for the least total communication; a "
             "baseline where one is faster, or --faithful",
    .run = detail::run_tofu<search_options>,
    .options = {faithful_option, slices_option, published_count_option, tofu_simulations_option},
};

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/tofu/named.inl"
#endif

#include "tessera/base/end_header.inl"
