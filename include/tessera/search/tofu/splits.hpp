// SPDX-License-Identifier: Apache-2.0
// Tofu's partition-n-reduce strategies (Wang, Huang and Li, "Supporting Very Large Models using Automatic Dataflow Graph
// Partitioning", EuroSys 2019), derived from an operator's description: each step splits one loop of an operator in as
// many parts as it has groups of devices. A loop of the output leaves the parts of the output side by side, a loop that is
// summed over leaves summands of it.
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
    tofu_steps first(int count) const {
        tofu_steps some{{factors.begin(), factors.begin() + count}, {}};
        some.strides = strides_of(some.factors);
        return some;
    }

    /// The first step's groups are blocks of neighbouring devices, the last step's are single devices.
    static std::vector<int> strides_of(const std::vector<int>& factors) {
        std::vector<int> all(factors.size(), 1);
        for (std::size_t i = factors.size(); i-- > 1;) {
            all[i - 1] = all[i] * factors[i];
        }
        return all;
    }
};

namespace detail {

inline void append_primes(int number, std::vector<int>& to) {
    std::vector<int> own;
    for (int p = 2; p <= number; ++p) {
        for (; number % p == 0; number /= p) {
            own.push_back(p);
        }
    }
    to.insert(to.end(), own.rbegin(), own.rend());
}

} // namespace detail

/// Steps for nodes of so many devices each: the prime factors of the nodes first, so that the first steps, which move the
/// least, cross between nodes; of each the largest first. Other factors than 2 are ours.
inline tofu_steps steps_for(int nodes, int per_node = 1) {
    tofu_steps s;
    detail::append_primes(nodes, s.factors);
    detail::append_primes(per_node, s.factors);
    s.strides = tofu_steps::strides_of(s.factors);
    return s;
}

/// Parts of a loop after the steps that split it.
inline int parts_of(const std::vector<int>& history, const std::vector<int>& factors, int loop) {
    int n = 1;
    for (std::size_t i = 0; i < history.size(); ++i) {
        n *= history[i] == loop ? factors[i] : 1;
    }
    return n;
}

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

/// The configuration that the steps make of an operator: `history[i]` is the loop that step i splits, or `copied`. Devices that do not
/// follow one another are listed at the end of the pool.
inline configuration configuration_of(const description& d, const std::vector<int>& history, const tofu_steps& steps,
                                      std::vector<index_t>& pool) {
    configuration c;
    const std::size_t n = history.size();
    std::vector<int> later(n, 1); ///< parts that further steps make of a part, along its loop
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = i + 1; j < n; ++j) {
            later[i] *= history[j] == history[i] ? steps.factors[j] : 1;
        }
        (history[i] == copied ? c.replicate : c.degree[history[i]]) *= steps.factors[i];
    }
    for (int l = 0; l < d.loops.size(); ++l) {
        c.uneven = c.uneven || d.loops[l].extent % c.degree[l] != 0;
        c.reduces = c.reduces || (c.degree[l] > 1 && role(d, l) == loop_role::coupled);
    }
    std::vector<index_t> devices;
    bool in_order = true;
    for (int i = 0; i < c.shards(); ++i) {
        int index[max_loops];
        int rest = i / c.replicate;
        for (int l = d.loops.size() - 1; l >= 0; --l) {
            index[l] = rest % c.degree[l];
            rest /= c.degree[l];
        }
        index_t device = 0;
        for (std::size_t s = 0; s < n; ++s) {
            const int place = history[s] == copied ? i % c.replicate : index[history[s]];
            device += index_t{place / later[s] % steps.factors[s]} * steps.strides[s];
        }
        in_order = in_order && device == i;
        devices.push_back(device);
    }
    if (!in_order) {
        c.devices = static_cast<int>(pool.size());
        pool.insert(pool.end(), devices.begin(), devices.end());
    }
    return c;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
