// SPDX-License-Identifier: Apache-2.0
// What superposition does, and what it leaves alone.
#ifdef TESSERA_TEST_HOST

#include "learned/gdp_cases.hpp"

using namespace learned_test;

namespace {

constexpr tl::gdp_shape on = with(small, true, false, false);
constexpr tl::gdp_shape off = with(small, false, false, false);

/// Three nodes without edges; the second takes so much less than the first, and the third so much more, that the first
/// is always at the mean. Its logits.
template <class Learner>
std::vector<float> first_node(Learner& learner, const ts::cluster& machine, ts::index_t spread) {
    sp::cost_graph g;
    g.name = "three";
    g.nodes.resize(3);
    for (sp::cost_node& n : g.nodes) {
        n.times = {{100, 100}};
    }
    g.nodes[0].output_bytes = 10; // so that something of it is not 0
    g.nodes[1].times = {{100 - spread, 100}};
    g.nodes[2].times = {{100 + spread, 100}};
    const std::vector<float> logits = learner.logits(learner.add(g, machine));
    return {logits.begin(), logits.begin() + 3};
}

} // namespace

TEST_CASE("superposition tells graphs apart; of zeros it changes nothing") {
    random_case c(9, 12);
    tl::gdp<on> policy({.seed = 3});
    tl::gdp<off> without({.seed = 3});
    // A node without neighbours and attention knows of other nodes by the pooled vector alone.
    CHECK(first_node(policy, c.on, 0) != first_node(policy, c.on, 50));
    CHECK(first_node(without, c.on, 0) == first_node(without, c.on, 50));
    // Without it there are fewer parameters; those that there are have the same paths and so the same first values.
    const parameters all = parameters_of(policy.trained());
    const parameters fewer = parameters_of(without.trained());
    CHECK(fewer.size() < all.size());
    for (const auto& [path, values] : fewer) {
        CHECK(all.at(path) == values);
    }
    const std::vector<float> plain = without.logits(without.add(c.graph, c.on));
    const int number = policy.add(c.graph, c.on);
    const auto apart = [&](const std::vector<float>& logits) {
        double most = 0;
        for (std::size_t i = 0; i < plain.size(); ++i) {
            most = std::max(most, std::abs(static_cast<double>(logits[i]) - static_cast<double>(plain[i])));
        }
        return most;
    };
    CHECK(apart(policy.logits(number)) > 0.01);
    for (int p = 0; p < policy.trained().graph().parameter_count; ++p) {
        if (ts::parameter_path_of(policy.trained().graph(), p).starts_with("condition")) {
            const std::vector<float> zeros(policy.trained().values().parameter(p).size(), 0.0F);
            policy.trained().values().set_parameter(p, zeros);
        }
    }
    CHECK(apart(policy.logits(number)) < 1e-6);
}

#endif
