// SPDX-License-Identifier: Apache-2.0
// What the lanes of a device graph carry while all that an edge of the additive model sends moves at once, for every
// pair of configurations.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/cost/tiling.hpp"
#include "tessera/machine/cluster.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace tessera::search::detail {

/// Devices in blocks, such that what a device sends to other blocks always leaves over the same lanes and comes in over
/// lanes that only the receiver says. Then a device's bytes to and from all other blocks are two numbers, and only
/// pairs within a block are looked at one by one. Blocks are single devices where that is true of them, else nodes,
/// else all devices are one block.
class device_blocks {
public:
    explicit device_blocks(const cluster& on);

    using lanes = fixed_vector<int, route::max_lanes>;
    bool has_far() const { return has_far_; }
    index_t latency() const { return latency_; }                                      ///< of every route between blocks
    const std::vector<int>& near(int device) const { return near_[to_size(device)]; } ///< itself too, in order
    const lanes& out(int device) const { return out_[to_size(device)]; }
    const lanes& in(int device) const { return in_[to_size(device)]; }

private:
    static bool has(const lanes& all, int lane) { return std::find(all.begin(), all.end(), lane) != all.end(); }

    /// Sets out_ and in_: lanes that all routes of a device to other blocks share, from the first one on; the rest of
    /// the routes to a device must be alike.
    bool separates(const cluster& on);

    std::vector<int> of_; ///< the block of every device
    std::vector<lanes> out_;
    std::vector<lanes> in_;
    std::vector<std::vector<int>> near_;
    index_t latency_ = 0;
    bool has_far_ = false;
};

/// Prices edges on a device graph, shard i on device i.
class lane_loads {
public:
    using tiles = cost::tiling<0, 0, 0>;

    explicit lane_loads(const cluster& on);

    /// t_X of one edge, times[i * (number of the consumer's) + j], in ns: each shard of the consumer receives what it
    /// needs of what the producer's shards on other devices have written, and, with `gradient`, sends as much back. All
    /// of one direction moves at the same time: it takes the greatest latency, and what the lane takes that carries
    /// most.
    std::vector<index_t> edge_times(const tiles& from, const tiles& to, index_t element_bytes, bool gradient) const;

private:
    /// What pieces along one dimension have in common.
    struct overlaps {
        std::size_t wide = 0;         ///< the consumer's pieces
        std::size_t tall = 0;         ///< the producer's
        std::vector<index_t> common;  ///< [producer's piece][consumer's]
        std::vector<index_t> read;    ///< [consumer's grid][producer's piece]: all of the grid's
        std::vector<index_t> written; ///< [producer's grid][consumer's piece]
    };
    static overlaps along(const tiles& from, const tiles& to, int k);

    using loads = std::vector<index_t>; ///< elements, of every lane, in the order of their speeds
    /// What one edge is priced with.
    struct scratch {
        loads forth;
        loads back;
        std::vector<overlaps> overlap{}; ///< by dimension
        std::vector<index_t> near{};     ///< what every shard needs of its block's devices, itself too
        index_t latency = 0;
    };

    /// How many shards have each combination of pieces; 0 where some have more of them than others.
    static index_t copies(const tiles& t, const cost::tiled& c);

    index_t time_of(const tiles& from, const cost::tiled& u, const tiles& to, const cost::tiled& v, index_t bytes,
                    bool gradient, scratch& x) const;

    static void add(loads& to, const device_blocks::lanes& lanes, index_t volume);
    /// When all has arrived; the lanes are empty again.
    index_t arrived(loads& all, index_t bytes, index_t latency) const;

    /// Lanes of one speed, MB/s.
    struct alike_lanes {
        index_t megabytes = 0;
        int begin = 0;
        int end = 0;
    };
    struct near_route {
        device_blocks::lanes lanes;
        index_t latency = 0;
    };

    device_blocks blocks_;
    int devices_ = 0;
    std::size_t lanes_ = 0;
    std::vector<near_route> routes_;
    std::vector<device_blocks::lanes> out_; ///< of every device, to other blocks
    std::vector<device_blocks::lanes> in_;
    std::vector<alike_lanes> speeds_;
};

} // namespace tessera::search::detail

#ifndef TESSERA_COMPILED
#include "tessera/search/optcnn/lane_loads.inl"
#endif

#include "tessera/base/end_header.inl"
