// SPDX-License-Identifier: Apache-2.0
// Bodies of mirhoseini_options.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/learned/mirhoseini_options.hpp"

namespace tessera::learned {

TESSERA_INLINE void require(const mirhoseini_options& o) {
    const option_check check("Mirhoseini");
    if (o.samples < 1) {
        check.refuse("an update on " + std::to_string(o.samples) + " placements; give at least 1");
    }
    check.rate(o.learning_rate);
    check.clip_norm(o.clip_norm);
    if (!(o.kept >= 0 && o.kept < 1)) {
        check.refuse("a moving average that keeps " + fixed_text(o.kept) + "; give a number from 0 to below 1");
    }
    check.entropy(o.entropy, o.entropy_updates);
    check.infeasible(o.infeasible);
}

} // namespace tessera::learned

namespace tessera::learned::detail {

TESSERA_INLINE std::vector<float> features_of(const group_graph& g, int most) {
    const int n = g.count();
    std::vector<std::vector<double>> all(group_features, std::vector<double>(to_size(n), 0));
    all[0] = g.work;
    all[1] = g.output_bytes;
    all[2] = g.memory_bytes;
    for (const group_edge& e : g.edges) {
        const auto from = to_size(e.from);
        const auto to = to_size(e.to);
        const double far = std::abs(e.to - e.from) / static_cast<double>(n);
        all[3][to] = std::min(1.0, all[3][to] + 0.125);
        all[4][from] = std::min(1.0, all[4][from] + 0.125);
        all[5][to] += e.bytes;
        all[6][to] = all[6][to] > 0 ? std::min(all[6][to], far) : far;
        all[7][from] = all[7][from] > 0 ? std::min(all[7][from], far) : far;
    }
    std::vector<float> features(to_size(most * group_features), 0.0F);
    for (std::size_t k = 0; k < all.size(); ++k) {
        const double largest = *std::max_element(all[k].begin(), all[k].end());
        const double unit = (k < 3 || k == 5) && largest > 0 ? largest : 1;
        for (std::size_t i = 0; i < to_size(n); ++i) {
            features[i * group_features + k] = static_cast<float>(all[k][i] / unit);
        }
    }
    return features;
}

} // namespace tessera::learned::detail

#include "tessera/base/end_header.inl"
