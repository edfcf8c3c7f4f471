// SPDX-License-Identifier: Apache-2.0
// Small GDP policies and random graphs for them.
#pragma once

#include "learned/gdp_by_hand.hpp"
#include "search/placement/random_costs.hpp"
#include "tessera/host.hpp"
#include "tessera/learned/gdp.hpp"

#include <doctest/doctest.h>

namespace learned_test {

namespace sp = tessera::search::placement;

inline constexpr tl::gdp_shape small{.nodes = 12,
                                     .edges = 120,
                                     .features = 8,
                                     .devices = 3,
                                     .width = 8,
                                     .rounds = 2,
                                     .layers = 2,
                                     .heads = 2,
                                     .inner = 12,
                                     .segment = 4,
                                     .samples = 3};
constexpr tl::gdp_shape with(tl::gdp_shape s, bool superposition, bool recurrence, bool attention) {
    s.superposition = superposition;
    s.recurrence = recurrence;
    s.attention = attention;
    return s;
}

/// Three devices and any graph that fits.
struct random_case {
    std::mt19937 random;
    ts::cluster on;
    sp::cost_graph graph;

    random_case(unsigned seed, int nodes)
        : random(seed), on(placement_test::small_machine(random, 3, 0)),
          graph(placement_test::small_graph(random, nodes, static_cast<int>(on.graph().classes.size()))) {}
};

/// The largest difference of logits, over the nodes of a graph.
inline double difference(const std::vector<float>& logits, const table& by_hand) {
    double most = 0;
    for (std::size_t i = 0; i < by_hand.size(); ++i) {
        for (std::size_t d = 0; d < by_hand[i].size(); ++d) {
            const double own = static_cast<double>(logits[i * by_hand[i].size() + d]);
            most = std::max(most, std::isfinite(own) ? std::abs(own - by_hand[i][d]) : 1e9);
        }
    }
    return most;
}

template <tl::gdp_shape S>
void check_logits() {
    for (unsigned seed = 1; seed <= 3; ++seed) {
        for (const int nodes : {12, 11, 5, 1}) {
            random_case c(seed, nodes);
            tl::gdp<S> policy({.prior = 0.5, .seed = seed});
            const int number = policy.add(c.graph, c.on);
            sp::evaluator e(c.graph, c.on);
            const tl::gdp_inputs x = tl::gdp_inputs_of(S, e, 0.5);
            gdp_by_hand hand{S, x, nodes};
            hand.run(parameters_of(policy.trained()));
            CAPTURE(nodes);
            CHECK(difference(policy.logits(number), hand.logits) < 2e-5);
        }
    }
}

} // namespace learned_test
