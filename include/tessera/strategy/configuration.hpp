// SPDX-License-Identifier: Apache-2.0
// How one operator is divided and where its shards run: OptCNN's and FlexFlow's c_i, with reduction splits,
// replication, uneven shards and partial tensors.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/analysis.hpp"
#include "tessera/strategy/described.hpp"

namespace tessera {

/// Devices, stages, micro-batches, copies: far more than any machine has.
inline constexpr int largest_count = 1 << 20;

/// One operator's configuration. Cut points and device lists lie in a pool of numbers that the strategy owns.
struct configuration {
    int degree[max_loops] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}; ///< shards along each loop
    int cuts[max_loops] = {-1, -1, -1, -1, -1,
                           -1, -1, -1, -1, -1}; ///< where in the pool the degree-1 cut points start, or -1
    int partial = 1;   ///< parts of a partial input that a linear operator passes on without adding them up
    int replicate = 1; ///< copies of every shard
    int start = 0;     ///< shard i runs on device start + stride * i ...
    int stride = 1;
    int devices = -1;     ///< ... or on the device that the pool names from here on
    bool uneven = false;  ///< degrees need not divide their extents
    bool reduces = false; ///< splits of coupled loops are meant, with the reductions inside the operator that they cost
    int stage = 0;        ///< pipeline stage
    bool recompute = false; ///< its results are made again for backward in place of being kept; says nothing of a loss
    /// Its output waits for backward in the host's memory; says nothing of a loss, of a view, or where it recomputes.
    bool offload = false;
    /// Attention with the positions of queries split: keys and values, in pieces as the positions are, go from device to
    /// device, and no device has all of them (Liu et al. 2023, "Ring attention", arXiv 2310.01889).
    bool ring = false;

    constexpr int boxes() const {
        int n = 1;
        for (int k : degree) {
            n *= k;
        }
        return n;
    }
    constexpr int shards() const { return boxes() * partial * replicate; }
    friend constexpr bool operator==(const configuration& a, const configuration& b) { return same_fields(a, b); }

    template <class See>
    static constexpr void each_field(See&& see) {
        using c = configuration;
        see("degree", &c::degree, {.words = "splits"});
        see("cuts", &c::cuts, {.words = "splits", .pooled = true});
        see("partial", &c::partial, {.words = "parts", .least = 1});
        see("replicate", &c::replicate, {.words = "copies", .least = 1});
        see("start", &c::start, {.words = "devices", .places = true});
        see("stride", &c::stride, {.words = "devices", .least = -largest_count, .places = true});
        see("devices", &c::devices, {.pooled = true, .places = true});
        see("uneven", &c::uneven, {.permits = true});
        see("reduces", &c::reduces, {.permits = true});
        see("stage", &c::stage, {});
        see("recompute", &c::recompute, {});
        see("offload", &c::offload, {});
        see("ring", &c::ring, {});
    }
};

/// Takes over what says nothing of shards: the stage, and what becomes of results.
constexpr void copy_all_but_shards(configuration& to, const configuration& from) {
    to.stage = from.stage;
    to.recompute = from.recompute;
    to.offload = from.offload;
}

/// What the operator makes stays on its devices until backward has read it.
constexpr bool keeps_results(const configuration& c) { return !c.recompute && !c.offload; }

/// One shard of an operator.
struct shard {
    interval ranges[max_loops];
    int index[max_loops]{}; ///< place along each loop
    int box_index = 0;      ///< which part of the iteration space: equal for replicas
    int summand = 0;        ///< which part of a partial tensor passes through it
    int replica = 0;
    int device = 0;
};

/// The range of loop indices of shard `i` along a loop.
constexpr interval range_of(const configuration& c, const index_t* pool, const description& d, int loop_index, int i) {
    const index_t extent = d.loops[loop_index].extent;
    const int cuts = c.cuts[loop_index];
    if (cuts < 0) {
        return even_part(extent, c.degree[loop_index], i);
    }
    // A short batch may end before a cut point: the shards behind it are empty.
    const index_t first = i == 0 ? 0 : pool[cuts + i - 1];
    const index_t last = i + 1 == c.degree[loop_index] ? extent : pool[cuts + i];
    return {first < extent ? first : extent, last < extent ? last : extent};
}

/// Shard `number` of an operator: loops first to last, then parts, then replicas, the last varying fastest.
constexpr shard shard_at(const configuration& c, const index_t* pool, const description& d, int number) {
    shard s;
    s.device = c.devices >= 0 ? static_cast<int>(pool[c.devices + number]) : c.start + c.stride * number;
    s.replica = number % c.replicate;
    int rest = number / c.replicate;
    s.summand = rest % c.partial;
    rest /= c.partial;
    s.box_index = rest;
    for (int l = d.loops.size() - 1; l >= 0; --l) {
        s.index[l] = rest % c.degree[l];
        rest /= c.degree[l];
        s.ranges[l] = range_of(c, pool, d, l, s.index[l]);
    }
    return s;
}

/// Gives a shard its share of one micro-batch's samples instead of the whole batch's: cut points move in proportion.
constexpr void confine(shard& s, const configuration& c, const index_t* pool, const description& d,
                       const interval& samples) {
    const int l = d.find_loop(loop_name::sample);
    if (l < 0) {
        return;
    }
    const int degree = c.degree[l];
    const int i = s.index[l];
    if (c.cuts[l] < 0) {
        const interval part = even_part(samples.size(), degree, i);
        s.ranges[l] = {samples.begin + part.begin, samples.begin + part.end};
        return;
    }
    const index_t extent = d.loops[l].extent;
    const auto point = [&](int k) {
        const index_t at = k == 0        ? 0
                           : k == degree ? samples.size()
                                         : pool[c.cuts[l] + k - 1] * samples.size() / extent;
        return samples.begin + (at < samples.size() ? at : samples.size());
    };
    s.ranges[l] = {point(i), point(i + 1)};
}

/// How many partial results of nest `k` add up to its output.
constexpr int parts_of_nest(const configuration& c, const description& d, int k) {
    int n = c.partial;
    const std::uint32_t reduced = reduced_loops(d, k);
    for (int l = 0; l < d.loops.size(); ++l) {
        n *= has(reduced, l) ? c.degree[l] : 1;
    }
    return n;
}

/// Which of these partial results a shard computes.
constexpr int part_of_nest(const shard& s, const configuration& c, const description& d, int k) {
    int n = 0;
    const std::uint32_t reduced = reduced_loops(d, k);
    for (int l = 0; l < d.loops.size(); ++l) {
        if (has(reduced, l)) {
            n = n * c.degree[l] + s.index[l];
        }
    }
    return n * c.partial + s.summand;
}

/// True for the shards that add additive operands (a bias): the first along every loop that the operand's nest reduces.
constexpr bool is_first_part(const shard& s, const description& d) {
    for (int k = 0; k < d.nests.size(); ++k) {
        const std::uint32_t reduced = reduced_loops(d, k);
        for (int l = 0; l < d.loops.size(); ++l) {
            if (has(reduced, l) && s.index[l] != 0) {
                return false;
            }
        }
    }
    return true;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
