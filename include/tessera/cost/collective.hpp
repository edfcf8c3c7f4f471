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

// ---- formulas -------------------------------------------------------------------------------------------------------
// alpha: ns per transfer (message, in their words); beta: ns per 1000 bytes; n bytes among p members. Reductions
// themselves are not charged. Sources: Thakur, Rabenseifner and Gropp, Optimization of collective communication
// operations in MPICH, IJHPCA 19(1), 2005, sections 3 and 4; Chan, Heimlich, Purkayastha and van de Geijn, Collective
// communication: theory, practice, and experience, CCPE 19(13), 2007.

constexpr int ceil_log2(int p) {
    int rounds = 0;
    while ((1 << rounds) < p) {
        ++rounds;
    }
    return rounds;
}

struct alpha_beta {
    double alpha = 0; ///< ns
    double beta = 0;  ///< ns per byte

    /// Ring reduce-scatter, or all-gather: (p-1) alpha + (p-1)/p n beta.
    constexpr double ring_half(double n, int p) const { return (p - 1) * (alpha + n / p * beta); }
    /// Ring all-reduce: 2(p-1) alpha + 2(p-1)/p n beta.
    constexpr double ring_all_reduce(double n, int p) const { return 2 * ring_half(n, p); }
    /// Recursive halving reduce-scatter, or recursive doubling all-gather, p a power of two: lg p alpha + (p-1)/p n
    /// beta.
    constexpr double halving_half(double n, int p) const { return ceil_log2(p) * alpha + (p - 1) * (n / p) * beta; }
    /// Rabenseifner's all-reduce, p a power of two: 2 lg p alpha + 2(p-1)/p n beta.
    constexpr double halving_all_reduce(double n, int p) const { return 2 * halving_half(n, p); }
    /// Binomial broadcast, or reduce: ceil(lg p) (alpha + n beta).
    constexpr double tree_broadcast(double n, int p) const { return ceil_log2(p) * (alpha + n * beta); }
    /// Binomial reduce, then broadcast: 2 ceil(lg p) (alpha + n beta).
    constexpr double tree_all_reduce(double n, int p) const { return 2 * tree_broadcast(n, p); }
    /// Pairwise exchange all-to-all, n the bytes that each member holds: (p-1)(alpha + n/p beta).
    constexpr double all_to_all(double n, int p) const { return ring_half(n, p); }
    /// Scatter, then ring all-gather (van de Geijn): (ceil(lg p) + p - 1) alpha + 2(p-1)/p n beta.
    constexpr double scatter_broadcast(double n, int p) const {
        return (ceil_log2(p) + p - 1) * alpha + 2 * (p - 1) * (n / p) * beta;
    }
};

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
    explicit round_sum(const cluster& on) : on_(on), load_(static_cast<std::size_t>(on.lanes()), 0) {}

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
