// SPDX-License-Identifier: Apache-2.0
// Searches, schedules and policies of the library's lists by their names, for the benchmarks' tables.
#pragma once

#include "tessera/schedule/policies.hpp"
#include "tessera/schedule/schedules.hpp"
#include "tessera/search/quick_searches.hpp"
#include "tessera/search/run.hpp"

#include <initializer_list>
#include <utility>

namespace benchmarks {

using by_name_options = std::initializer_list<std::pair<std::string_view, double>>;

inline tessera::option_values values_of(by_name_options given) {
    tessera::option_values all;
    for (const auto& [name, value] : given) {
        all.set(name, value);
    }
    return all;
}

/// What a strategy designed by hand is on a machine, or a search under a model of costs finds.
inline tessera::strategy found_by(std::string_view search, const tessera::graph_view& g, const tessera::cluster& on,
                                  by_name_options options = {}) {
    tessera::search::search_options o;
    o.values = values_of(options);
    return tessera::search::run(tessera::search::quick_search_named(search), g, on, o).best;
}

inline tessera::pipeline_schedule schedule_by(std::string_view name, int workers, int micro_batches,
                                              by_name_options options, tessera::schedule::rematerialize again) {
    return tessera::schedule::make(
        {&tessera::schedule::schedule_named(name), workers, micro_batches, values_of(options), again});
}
/// Where operators recompute, all micro-batches do, but the last where it need not.
inline tessera::pipeline_schedule schedule_by(std::string_view name, int workers, int micro_batches,
                                              by_name_options options = {}) {
    return schedule_by(name, workers, micro_batches, options,
                       usual_rematerialization(tessera::schedule::schedule_named(name)));
}

/// What a policy makes of gradients for so many devices that share parameters.
inline tessera::synchronization policy_by(std::string_view name,
                                          const std::vector<tessera::schedule::ready_gradient>& gradients,
                                          int members = 1, by_name_options options = {},
                                          const tessera::schedule::worker_speed& speed = {}) {
    return tessera::schedule::make(tessera::schedule::policy_named(name),
                                   {gradients, members, speed, values_of(options)});
}

} // namespace benchmarks
