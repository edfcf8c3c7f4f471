// SPDX-License-Identifier: Apache-2.0
// Graphs that are smaller than a GDP policy.
#ifdef TESSERA_TEST_HOST

#include "learned/gdp_cases.hpp"

using namespace learned_test;

TEST_CASE("padding does not change logits, nor do the rows behind a graph") {
    constexpr tl::gdp_shape wide = [] {
        tl::gdp_shape s = small;
        s.nodes = 20;
        s.edges = 160;
        return s;
    }();
    random_case c(12, 10);
    tl::gdp<small> policy({.seed = 2});
    tl::gdp<wide> padded({.seed = 2});
    const std::vector<float> a = policy.logits(policy.add(c.graph, c.on));
    const std::vector<float> b = padded.logits(padded.add(c.graph, c.on));
    for (std::size_t i = 0; i < 30; ++i) {
        CHECK(std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])) < 1e-6);
    }
    sp::evaluator e(c.graph, c.on);
    tl::gdp_inputs x = tl::gdp_inputs_of(small, e, 0);
    for (std::size_t i = 10 * 8; i < x.features.size(); ++i) {
        x.features[i] = 3;
    }
    const auto number = [](const std::vector<float>& v) { return ts::input_data(std::span<const float>(v)); };
    const std::vector<ts::input_data> inputs{number(x.features),
                                             std::span<const std::int32_t>(x.senders),
                                             std::span<const std::int32_t>(x.receivers),
                                             number(x.shares),
                                             number(x.visible),
                                             number(x.prior)};
    const std::vector<float> other = policy.trained().predict(inputs).values;
    CHECK(std::equal(a.begin(), a.begin() + 30, other.begin()));
    CHECK(a[10 * 3] != other[10 * 3]); // the padding itself has changed
}

#endif
