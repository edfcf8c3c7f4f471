// SPDX-License-Identifier: Apache-2.0
// Simulated annealing over placements (Kirkpatrick, Gelatt and Vecchi 1983).
#pragma once

#include "tessera/search/placement/moves.hpp"

#include <cmath>

namespace tessera::search::placement {

struct annealing_options {
    std::int64_t evaluations = 100'000;
    double first_temperature = 0.05; ///< relative to the present price; falls geometrically
    double last_temperature = 0.0005;
    std::uint64_t seed = 1;
    grouping groups{};  ///< what moves together; empty: what has to
    assignment start{}; ///< empty: all on the device 0
};

/// The best placement that was seen. The same options give the same.
inline found anneal(evaluator& e, const annealing_options& o = {}) {
    const grouping groups = o.groups.of.empty() ? required_groups(e.graph(), e.order()) : o.groups;
    group_moves moves(e, groups, o.start.empty() ? assignment(e.graph().nodes.size(), 0) : o.start);
    const detail::weighed_price weigh(e);
    random_numbers pick{o.seed};
    found now = priced(e, moves.where());
    found best = now;
    double price = weigh(now);
    std::int64_t made = 1;
    const double steps = static_cast<double>(std::max<std::int64_t>(2, o.evaluations));
    double temperature = o.first_temperature;
    const double falls = std::pow(o.last_temperature / o.first_temperature, 1 / steps);
    for (; made < o.evaluations; ++made, temperature *= falls) {
        moves.move_some(pick);
        const double bar = pick.number();
        if (!moves.changed()) {
            continue;
        }
        const placement::price p = e.priced(moves.where());
        now.step = p.step;
        now.excess_bytes = p.excess_bytes;
        const double next = weigh(now);
        if (next <= price || bar < std::exp((price - next) / (temperature * price))) {
            price = next;
            if (now.better_than(best)) {
                best.where = moves.where();
                best.step = now.step;
                best.excess_bytes = now.excess_bytes;
            }
        } else {
            moves.undo();
        }
    }
    best.evaluations = made;
    return best;
}

} // namespace tessera::search::placement
