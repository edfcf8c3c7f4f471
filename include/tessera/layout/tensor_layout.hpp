// SPDX-License-Identifier: Apache-2.0
// The layout of a tensor as a value: how each dimension is split, how often each shard is there, and where.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/constant_vector.hpp"
#include "tessera/layout/redistribute.hpp"

#include <string>

namespace tessera {

/// How one tensor is partitioned. Its shards are a grid: the ranges along each dimension, which overlap where windows
/// do. Every shard consists of `partial` summands, and there are `replicate` copies of each.
struct tensor_layout {
    shape extents;
    element type = element::f32;
    std::vector<interval> ranges; ///< those along dimension 0, then dimension 1, ...
    int shards[max_rank] = {1, 1, 1, 1, 1};
    int replicate = 1;
    int partial = 1;
    bool adds = false;        ///< what overlaps are summands, not copies: contributions to a gradient
    std::vector<int> devices; ///< of each shard (dimension 0 slowest), each summand of it, and each copy of that

    constexpr int boxes() const {
        int n = 1;
        for (int d = 0; d < extents.rank; ++d) {
            n *= shards[d];
        }
        return n;
    }
    constexpr int count() const { return boxes() * partial * replicate; }
    TESSERA_VECTOR_CONSTEXPR interval range(int dimension, int i) const {
        for (int d = 0; d < dimension; ++d) {
            i += shards[d];
        }
        return ranges[static_cast<std::size_t>(i)];
    }
    TESSERA_VECTOR_CONSTEXPR box region(int number) const {
        box b{extents.rank, {}};
        for (int d = extents.rank - 1; d >= 0; --d) {
            b.dim[d] = range(d, number % shards[d]);
            number /= shards[d];
        }
        return b;
    }
    /// Every shard, summand and copy.
    TESSERA_VECTOR_CONSTEXPR std::vector<piece> pieces() const {
        std::vector<piece> all;
        for (int i = 0; i < count(); ++i) {
            const int part = i / replicate % partial;
            const int number = i / replicate / partial;
            all.push_back(
                {region(number), devices[static_cast<std::size_t>(i)], adds ? number * partial + part : part, -1});
        }
        return all;
    }
    friend TESSERA_VECTOR_CONSTEXPR bool operator==(const tensor_layout& a, const tensor_layout& b) {
        bool same = a.extents == b.extents && a.type == b.type && a.replicate == b.replicate &&
                    a.partial == b.partial && a.adds == b.adds && a.ranges.size() == b.ranges.size() &&
                    a.devices.size() == b.devices.size();
        for (int d = 0; d < max_rank; ++d) {
            same = same && a.shards[d] == b.shards[d];
        }
        for (std::size_t i = 0; same && i < a.ranges.size(); ++i) {
            same = a.ranges[i] == b.ranges[i];
        }
        for (std::size_t i = 0; same && i < a.devices.size(); ++i) {
            same = a.devices[i] == b.devices[i];
        }
        return same;
    }
};

/// The pieces of a layout that hold something.
TESSERA_VECTOR_CONSTEXPR std::vector<piece> filled_pieces(const tensor_layout& from) {
    std::vector<piece> all;
    for (const piece& p : from.pieces()) {
        if (!p.region.empty()) {
            all.push_back(p);
        }
    }
    return all;
}

/// What a device needs twice (two of its shards read one region) it receives once, as in a plan.
TESSERA_VECTOR_CONSTEXPR std::vector<piece> needed_once(const tensor_layout& to) {
    std::vector<piece> all;
    for (const piece& p : filled_pieces(to)) {
        bool known = false;
        for (const piece& q : all) {
            known = known || p == q;
        }
        if (!known) {
            all.push_back(p);
        }
    }
    return all;
}

/// From one layout of a tensor to another. Where both are partial, every summand goes to where it is needed; otherwise
/// they are added up.
TESSERA_VECTOR_CONSTEXPR redistributed redistribute(const tensor_layout& from, const tensor_layout& to) {
    return redistribute(filled_pieces(from), needed_once(to), bytes_of(from.type), to.partial > 1);
}

/// "64x320 f32, dimension 0 in 2, on devices 0 1"
std::string to_text(const tensor_layout& l);

/// "all-gather of 81920 bytes: device 0 receives 40960 and sends 40960, ..."
std::string to_text(const redistributed& r);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/layout/tensor_layout.inl"
#endif

#include "tessera/base/end_header.inl"
