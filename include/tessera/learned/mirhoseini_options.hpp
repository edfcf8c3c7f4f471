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
void require(const mirhoseini_options& o);

namespace detail {

inline constexpr int group_features = 8;

/// By group, padded to `most` rows: work, bytes made and memory over the largest; an eighth of the groups that it reads
/// and that read it, at most 1; bytes read over the largest; how far before it the last group lies that it reads, over
/// the number of groups; how far behind it the first that reads it.
std::vector<float> features_of(const group_graph& g, int most);

} // namespace detail

} // namespace tessera::learned

#ifndef TESSERA_COMPILED
#include "tessera/learned/mirhoseini_options.inl"
#endif

#include "tessera/base/end_header.inl"
