// SPDX-License-Identifier: Apache-2.0
// Redistribution of a tensor between two layouts by intersecting regions, and the name of the collective that it is, if any.
#pragma once

#include "tessera/base/box.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace tessera {

/// A region of a tensor on a device. Pieces with different `part` are summands; of equal region and part, copies.
struct piece {
    box region;
    int device = 0;
    int part = 0;
    int tile = -1; ///< where a plan keeps it
};

/// `region` of a source piece, to be copied (or added) into a target.
struct segment {
    int source = 0; ///< index among the source pieces
    box region;
    bool first = true; ///< overwrites; otherwise reduces into what is there
};

/// What one target needs.
struct gather {
    std::vector<segment> segments; ///< in the order of the parts, which fixes the order of floating-point sums
    bool clear = false; ///< the target must be set to zero first: neither the first part nor disjoint segments cover it
};

namespace detail {

/// True where every element of the target lies in one segment.
inline bool tiles_exactly(const std::vector<segment>& segments, const box& target) {
    index_t volume = 0;
    for (std::size_t i = 0; i < segments.size(); ++i) {
        volume += segments[i].region.volume();
        for (std::size_t j = 0; j < i; ++j) {
            if (!intersect(segments[i].region, segments[j].region).empty()) {
                return false;
            }
        }
    }
    return volume == target.volume();
}

/// A source that overlaps the target.
struct overlapping {
    int source = 0;
    int part = 0;
    std::uint64_t key = 0; ///< equal for copies
};

inline bool overlaps(const box& a, const box& b) {
    for (int d = 0; d < b.rank; ++d) {
        if (a.dim[d].begin >= b.dim[d].end || b.dim[d].begin >= a.dim[d].end || a.dim[d].empty() || b.dim[d].empty()) {
            return false;
        }
    }
    return true;
}

inline std::uint64_t region_key(const box& b, int part) {
    std::uint64_t h = static_cast<std::uint64_t>(part);
    for (int d = 0; d < b.rank; ++d) {
        h = (h ^ static_cast<std::uint64_t>(b.dim[d].begin)) * 0x9e3779b97f4a7c15ULL;
        h = (h ^ (h >> 29U) ^ static_cast<std::uint64_t>(b.dim[d].end)) * 0xbf58476d1ce4e5b9ULL;
    }
    return h;
}

/// What overlaps the target in order of the parts, equal parts in the order given.
template <class Piece>
std::vector<overlapping> overlapping_pieces(const std::vector<Piece>& sources, const box& target, int only) {
    std::vector<overlapping> all;
    bool sorted = true;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const piece& s = sources[i];
        if ((only < 0 || s.part == only) && overlaps(s.region, target)) {
            sorted = sorted && (all.empty() || all.back().part <= s.part);
            all.push_back({static_cast<int>(i), s.part, region_key(s.region, s.part)});
        }
    }
    for (std::size_t i = 1; i < all.size() && !sorted; ++i) { // insertion: mostly in order already
        const overlapping x = all[i];
        std::size_t j = i;
        for (; j > 0 && all[j - 1].part > x.part; --j) {
            all[j] = all[j - 1];
        }
        all[j] = x;
    }
    return all;
}

} // namespace detail

/// The segments that fill `target` on `device` from the sources. Of several copies the one on the device itself is taken,
/// otherwise they are taken in turn, by `turn`, to spread the load. `only`: from the pieces of this part alone, as if it were part 0.
// The largest part of planning is done here: what does not overlap the target is passed over before anything else is looked at.
template <class Piece>
gather gather_into(const std::vector<Piece>& sources, const box& target, int device, int turn, int only = -1) {
    gather g;
    const std::vector<detail::overlapping> all = detail::overlapping_pieces(sources, target, only);
    const auto piece_at = [&](std::size_t k) -> const piece& {
        return sources[static_cast<std::size_t>(all[k].source)];
    };
    std::vector<char> done(all.size(), 0);
    std::vector<int> copies;
    index_t first_volume = 0;
    for (std::size_t k = 0; k < all.size(); ++k) {
        if (done[k] != 0) {
            continue;
        }
        const piece& s = piece_at(k);
        copies.clear();
        int chosen = -1;
        for (std::size_t j = k; j < all.size() && all[j].part == s.part; ++j) {
            if (all[j].key == all[k].key && piece_at(j).region == s.region) {
                done[j] = 1;
                copies.push_back(all[j].source);
                chosen = chosen < 0 && piece_at(j).device == device ? all[j].source : chosen;
            }
        }
        if (chosen < 0) {
            chosen = copies[static_cast<std::size_t>(turn) % copies.size()];
        }
        const box overlap = intersect(s.region, target);
        const bool first = only >= 0 || s.part == 0;
        first_volume += first ? overlap.volume() : 0;
        g.segments.push_back({chosen, overlap, first});
    }
    if (first_volume != target.volume()) {
        g.clear = !detail::tiles_exactly(g.segments, target);
        for (segment& s : g.segments) {
            s.first = !g.clear;
        }
    }
    return g;
}

enum class collective : std::uint8_t {
    none,           ///< nothing moves
    copy,           ///< regions move between devices in no special pattern
    broadcast,      ///< one device's tensor to several
    all_gather,     ///< everyone's piece to everyone
    reduce_scatter, ///< partial tensors summed, each device keeps a piece
    all_reduce,     ///< partial tensors summed, each device keeps the whole
    all_to_all,     ///< from pieces along one dimension to pieces along another
};

constexpr const char* to_text(collective c) {
    constexpr const char* names[] = {"none",           "copy",       "broadcast", "all-gather",
                                     "reduce-scatter", "all-reduce", "all-to-all"};
    return names[static_cast<int>(c)];
}

struct redistribution {
    collective kind = collective::none;
    index_t bytes = 0;           ///< that cross from one device to another, all devices together
    index_t worst_bytes = 0;     ///< most that one device receives
    std::vector<gather> gathers; ///< one for each target
};

/// Names the collective that a redistribution is: by what each device has and needs, whatever the dimensions.
template <class Piece>
collective classify(const std::vector<Piece>& from, const std::vector<Piece>& to, const box& tensor) {
    int parts = 1;
    int from_devices = 0;
    int to_devices = 0;
    std::uint64_t from_mask = 0;
    std::uint64_t to_mask = 0;
    bool to_whole = true;
    bool from_whole = true;
    bool to_disjoint = true;
    bool even = true;
    for (const piece& p : from) {
        parts = p.part + 1 > parts ? p.part + 1 : parts;
        from_whole = from_whole && p.region == tensor;
        even = even && p.region.volume() == from[0].region.volume();
        from_mask |= std::uint64_t{1} << static_cast<unsigned>(p.device & 63);
        ++from_devices;
    }
    for (std::size_t i = 0; i < to.size(); ++i) {
        to_whole = to_whole && to[i].region == tensor;
        to_mask |= std::uint64_t{1} << static_cast<unsigned>(to[i].device & 63);
        ++to_devices;
        for (std::size_t j = 0; j < i; ++j) {
            to_disjoint = to_disjoint && intersect(to[i].region, to[j].region).empty();
        }
    }
    const bool same_devices = from_mask == to_mask && from_devices == to_devices;
    if (parts > 1) {
        if (from_whole && same_devices && parts == from_devices) {
            return to_whole ? collective::all_reduce : to_disjoint ? collective::reduce_scatter : collective::copy;
        }
        return collective::copy;
    }
    if (from_whole && to_whole && from_devices == 1 && to_devices > 1) {
        return collective::broadcast;
    }
    if (!from_whole && to_whole && same_devices && even) {
        return collective::all_gather;
    }
    if (!from_whole && !to_whole && same_devices && to_disjoint) {
        bool everyone = true;
        for (const piece& s : from) {
            for (const piece& t : to) {
                everyone = everyone && !intersect(s.region, t.region).empty();
            }
        }
        return everyone ? collective::all_to_all : collective::copy;
    }
    return collective::copy;
}

/// How the targets are filled from the sources, and what moves. A target that a source on its device already is costs nothing.
template <class Piece>
redistribution redistribute(const std::vector<Piece>& from, const std::vector<Piece>& to, const box& tensor,
                            index_t element_bytes) {
    redistribution r;
    std::vector<index_t> received;
    for (std::size_t i = 0; i < to.size(); ++i) {
        r.gathers.push_back(gather_into(from, to[i].region, to[i].device, static_cast<int>(i)));
        index_t bytes = 0;
        for (const segment& s : r.gathers.back().segments) {
            if (from[static_cast<std::size_t>(s.source)].device != to[i].device) {
                bytes += s.region.volume() * element_bytes;
            }
        }
        r.bytes += bytes;
        const auto device = static_cast<std::size_t>(to[i].device);
        received.resize(received.size() > device ? received.size() : device + 1, 0);
        received[device] += bytes;
        r.worst_bytes = received[device] > r.worst_bytes ? received[device] : r.worst_bytes;
    }
    r.kind = r.bytes == 0 ? collective::none : classify(from, to, tensor);
    return r;
}

} // namespace tessera
