// SPDX-License-Identifier: Apache-2.0
// How old the parameters are that a plan's steps compute with.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/plan.hpp"

namespace tessera {

/// Of every step of a plan how many steps before it have not yet updated a parameter that it computes with: the most of
/// all its parameters. 0 where gradients are used at once; never more than the bound of the plan's synchronization.
std::vector<int> staleness_of(const plan& p);

/// What the steps of a training have computed with.
struct staleness_record {
    std::uint64_t steps = 0;
    int most = 0;              ///< steps whose updates were missing
    std::uint64_t total = 0;   ///< of all steps
    std::vector<int> last_run; ///< of each step of the last run of a plan

    double mean() const { return steps > 0 ? static_cast<double>(total) / static_cast<double>(steps) : 0; }
    /// The first `taken` steps of a run.
    void add(const std::vector<int>& by_step, std::size_t taken);
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/plan/staleness.inl"
#endif

#include "tessera/base/end_header.inl"
