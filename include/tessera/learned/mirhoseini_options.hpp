// SPDX-License-Identifier: Apache-2.0
// How the policy of Mirhoseini et al. is trained, and what it reads of a group.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/number_text.hpp"
#include "tessera/learned/group_graph.hpp"
#include "tessera/learned/ppo.hpp"

namespace tessera::learned {

struct mirhoseini_options {
    int samples = 16; ///< placements of one update
    double learning_rate = 3e-3;
    double clip_norm = 1; ///< of all gradients together
    double kept = 0.9;    ///< of the moving average of mean rewards, which is the baseline, in every update
    double entropy =
        0.02; ///< coefficient of the bonus, which falls to 0 in a straight line; not in the paper, as recalled
    int entropy_updates = 200; ///< over so many updates
    double infeasible = -10;   ///< reward of a placement that does not fit
    bool scaled = true;        ///< as ppo_options::scaled
    std::uint64_t seed = 1;
};

/// Throws tessera::error that says which option makes no sense.
inline void require(const mirhoseini_options& o) {
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

namespace detail {

inline constexpr int group_features = 8;

/// By group, padded to `most` rows: work, bytes made and memory over the largest; an eighth of the groups that it reads and that read it, at most 1; bytes
/// read over the largest; how far before it the last group lies that it reads, over the number of groups; how far behind it the first that reads it.
inline std::vector<float> features_of(const group_graph& g, int most) {
    const int n = g.count();
    std::vector<std::vector<double>> all(group_features, std::vector<double>(static_cast<std::size_t>(n), 0));
    all[0] = g.work;
    all[1] = g.output_bytes;
    all[2] = g.memory_bytes;
    for (const group_edge& e : g.edges) {
        const auto from = static_cast<std::size_t>(e.from);
        const auto to = static_cast<std::size_t>(e.to);
        const double far = std::abs(e.to - e.from) / static_cast<double>(n);
        all[3][to] = std::min(1.0, all[3][to] + 0.125);
        all[4][from] = std::min(1.0, all[4][from] + 0.125);
        all[5][to] += e.bytes;
        all[6][to] = all[6][to] > 0 ? std::min(all[6][to], far) : far;
        all[7][from] = all[7][from] > 0 ? std::min(all[7][from], far) : far;
    }
    std::vector<float> features(static_cast<std::size_t>(most * group_features), 0.0F);
    for (std::size_t k = 0; k < all.size(); ++k) {
        const double largest = *std::max_element(all[k].begin(), all[k].end());
        const double unit = (k < 3 || k == 5) && largest > 0 ? largest : 1;
        for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
            features[i * group_features + k] = static_cast<float>(all[k][i] / unit);
        }
    }
    return features;
}

} // namespace detail

} // namespace tessera::learned

#include "tessera/base/end_header.inl"
