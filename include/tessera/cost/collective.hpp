// SPDX-License-Identifier: Apache-2.0
// What collectives cost: the textbook formulas of the alpha-beta model, and the same algorithms round by round over the
// routes of a cluster, where transfers that share a lane share its bandwidth.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/machine/cluster.hpp"

namespace tessera::cost {

/// How a collective is carried out.
enum class collective_algorithm : std::uint8_t {
    ring,         ///< Patarasuk and Yuan 2009
    halving,      ///< recursive halving and doubling; Rabenseifner 2004, Thakur et al. 2005
    tree,         ///< binomial
    hierarchical, ///< rings within nodes, then, place by place, rings between nodes
};

constexpr const char* to_text(collective_algorithm a) {
    constexpr const char* names[] = {"ring", "halving and doubling", "tree", "hierarchical"};
    return names[static_cast<int>(a)];
}

/// Rounds of a tree among p members.
constexpr int ceil_log2(int p) {
    int rounds = 0;
    while ((1 << rounds) < p) {
        ++rounds;
    }
    return rounds;
}

// ---- on a cluster ---------------------------------------------------------------------------------------------------

/// What a collective does to a lane: busy nanoseconds for each 10^6 bytes of the collective.
struct lane_load {
    int lane = 0;
    index_t busy = 0;
};

/// A collective among given devices for any number of bytes: time = latency + bytes * slope / 10^6.
struct collective_cost {
    collective_algorithm algorithm = collective_algorithm::ring;
    index_t latency = 0; ///< ns
    index_t slope = 0;   ///< ns per 10^6 bytes
    std::vector<lane_load> lanes;

    constexpr index_t time(index_t bytes) const { return bytes == 0 ? 0 : latency + scaled(slope, bytes); }
    static constexpr index_t scaled(index_t per_million, index_t bytes) {
        return per_million * (bytes / 1'000'000) + per_million * (bytes % 1'000'000) / 1'000'000;
    }
};

namespace detail {

/// Adds up rounds of simultaneous transfers. A round lasts its greatest latency and as long as its busiest lane needs.
class round_sum {
public:
    explicit round_sum(const cluster& on) : on_(on), load_(to_size(on.lanes()), 0) {}

    /// A transfer of `share` millionths of the collective's bytes.
    void transfer(int from, int to, index_t share);
    /// Ends a round that takes place `times` times.
    void end_round(index_t times = 1);
    collective_cost finish(collective_algorithm algorithm);

private:
    const cluster& on_;
    std::vector<index_t> load_;
    std::vector<int> used_;
    index_t latency_ = 0;
    collective_cost result_;
};

inline constexpr index_t whole_share = 1'000'000;

/// p-1 rounds in which every member sends 1/p to the next.
void add_ring(round_sum& rounds, const std::vector<std::vector<int>>& groups, index_t share);

/// Members by node, in the order of devices; empty unless every node has equally many.
std::vector<std::vector<int>> by_node(const cluster& on, const std::vector<int>& members);

inline bool is_power_of_two(std::size_t p) { return (p & (p - 1)) == 0; }

/// Half an all-reduce: reduce-scatter, or the all-gather that is its mirror image.
bool half_all_reduce(round_sum& rounds, const cluster& on, const std::vector<int>& members,
                     collective_algorithm algorithm);

} // namespace detail

/// Reduce-scatter (or all-gather, its mirror image) among two or more distinct devices by one algorithm; false where
/// that does not apply: halving and doubling needs a power of two, hierarchical several nodes of equally many members.
/// Lanes are those of the reduce-scatter.
bool half_all_reduce(const cluster& on, const std::vector<int>& members, collective_algorithm algorithm,
                     collective_cost& out);

/// The algorithms for halves of all-reduces among some devices, so that the best can be taken for any number of bytes.
struct collective_choice {
    std::vector<collective_cost> offered;

    const collective_cost& best(index_t bytes) const;
};

collective_choice all_reduce_halves(const cluster& on, const std::vector<int>& members);

} // namespace tessera::cost

#ifndef TESSERA_COMPILED
#include "tessera/cost/collective.inl"
#endif

#include "tessera/base/end_header.inl"
