// SPDX-License-Identifier: Apache-2.0
// Tofu's partition-n-reduce strategies (Wang, Huang and Li, "Supporting Very Large Models using Automatic Dataflow
// Graph Partitioning", EuroSys 2019), derived from an operator's description: each step splits one loop of an operator
// in as many parts as it has groups of devices. A loop of the output leaves the parts of the output side by side, a
// loop that is summed over leaves summands of it.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/strategy/configuration.hpp"

#include <vector>

namespace tessera::search {

/// A step that splits no loop: all of its groups do the same.
inline constexpr int copied = -1;

/// Which loops a step may split.
struct tofu_splits {
    bool with_reduction = true; ///< sums: the paper's output reduction
    bool with_coupled = true;   ///< loops of the output and of a sum inside, as a softmax's; ours
};

/// How many groups each step makes, the first step first, and how far apart the devices of neighbouring groups are.
struct tofu_steps {
    std::vector<int> factors;
    std::vector<int> strides;

    int count() const { return static_cast<int>(factors.size()); }
    /// The first `count` steps by themselves, on as many devices as they make groups.
    tofu_steps first(int count) const;

    /// The first step's groups are blocks of neighbouring devices, the last step's are single devices.
    static std::vector<int> strides_of(const std::vector<int>& factors);
};

namespace detail {

void append_primes(int number, std::vector<int>& to);

} // namespace detail

/// Steps for nodes of so many devices each: the prime factors of the nodes first, so that the first steps, which move
/// the least, cross between nodes; of each the largest first. Other factors than 2 are ours.
tofu_steps steps_for(int nodes, int per_node = 1);

/// Parts of a loop after the steps that split it.
int parts_of(const std::vector<int>& history, const std::vector<int>& factors, int loop);

/// True if a step of `factor` groups may split a loop that is in `parts` parts: into equal ones, unless `uneven`.
constexpr bool may_split(const description& d, int loop, const tofu_splits& which, int parts, int factor,
                         bool uneven = false) {
    const loop_role r = role(d, loop);
    const index_t extent = d.loops[loop].extent;
    const index_t wanted = index_t{parts} * factor;
    return splittable(d, loop) && (uneven ? extent >= wanted : extent % wanted == 0) &&
           (r != loop_role::reduction || which.with_reduction || d.facts.loss) &&
           (r != loop_role::coupled || which.with_coupled);
}

/// The configuration that the steps make of an operator: `history[i]` is the loop that step i splits, or `copied`.
/// Devices that do not follow one another are listed at the end of the pool.
configuration configuration_of(const description& d, const std::vector<int>& history, const tofu_steps& steps,
                               std::vector<index_t>& pool);

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/tofu/splits.inl"
#endif

#include "tessera/base/end_header.inl"
