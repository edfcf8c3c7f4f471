// SPDX-License-Identifier: Apache-2.0
// Redistribution of a tensor between two lists of pieces by intersecting regions: what lowering turns into tasks, what
// costs count, and what redistribution<From, To> has as constants.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/constant_vector.hpp"
#include "tessera/layout/collective.hpp"

#include <cstdint>
#include <numeric>

namespace tessera {

/// `region` of a source piece, to be copied (or added) into a target.
struct segment {
    int source = 0; ///< index among the source pieces
    box region;
    bool first = true; ///< overwrites; otherwise reduces into what is there
};

/// What one target needs.
struct copy_recipe {
    std::vector<segment> segments; ///< in the order of the parts, which fixes the order of floating-point sums
    bool clear = false; ///< the target must be set to zero first: neither the first part nor disjoint segments cover it
    int turns = 1;      ///< after so many the sources are the same again
};

namespace detail {

/// True where every element of the target lies in one segment.
template <class Segment>
constexpr bool tiles_exactly(const std::vector<Segment>& segments, const box& target) {
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
    int summand = 0;
    std::uint64_t key = 0; ///< equal for copies
    bool done = false;
};

constexpr bool overlaps(const box& a, const box& b) {
    for (int d = 0; d < b.rank; ++d) {
        if (a.dim[d].begin >= b.dim[d].end || b.dim[d].begin >= a.dim[d].end || a.dim[d].empty() || b.dim[d].empty()) {
            return false;
        }
    }
    return true;
}

constexpr std::uint64_t region_key(const box& b, int part) {
    std::uint64_t h = static_cast<std::uint64_t>(part);
    for (int d = 0; d < b.rank; ++d) {
        h = (h ^ static_cast<std::uint64_t>(b.dim[d].begin)) * 0x9e3779b97f4a7c15ULL;
        h = (h ^ (h >> 29U) ^ static_cast<std::uint64_t>(b.dim[d].end)) * 0xbf58476d1ce4e5b9ULL;
    }
    return h;
}

/// What overlaps the target in order of the parts, equal parts in the order given.
template <class Piece>
TESSERA_VECTOR_CONSTEXPR std::vector<overlapping> overlapping_pieces(const std::vector<Piece>& sources,
                                                                     const box& target, int only) {
    std::vector<overlapping> all;
    bool sorted = true;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const piece& s = sources[i];
        if ((only < 0 || s.summand == only) && overlaps(s.region, target)) {
            sorted = sorted && (all.empty() || all.back().summand <= s.summand);
            all.push_back({static_cast<int>(i), s.summand, region_key(s.region, s.summand)});
        }
    }
    for (std::size_t i = 1; i < all.size() && !sorted; ++i) { // insertion: mostly in order already
        const overlapping x = all[i];
        std::size_t j = i;
        for (; j > 0 && all[j - 1].summand > x.summand; --j) {
            all[j] = all[j - 1];
        }
        all[j] = x;
    }
    return all;
}

} // namespace detail

/// The segments that fill `target` on `device` from the sources. Of several copies the one on the device itself is
/// taken, otherwise they are taken in turn, by `turn`, to spread the load. `only`: from the pieces of this part alone,
/// as if it were part 0.
// The largest part of planning is done here: what does not overlap the target is passed over before anything else is
// looked at.
template <class Piece>
TESSERA_VECTOR_CONSTEXPR copy_recipe copy_recipe_for(const std::vector<Piece>& sources, const box& target, int device,
                                                     int turn, int only = -1) {
    copy_recipe g;
    std::vector<detail::overlapping> all = detail::overlapping_pieces(sources, target, only);
    const auto piece_at = [&](std::size_t k) -> const piece& {
        return sources[static_cast<std::size_t>(all[k].source)];
    };
    std::vector<int> copies;
    index_t first_volume = 0;
    for (std::size_t k = 0; k < all.size(); ++k) {
        if (all[k].done) {
            continue;
        }
        const piece& s = piece_at(k);
        copies.clear();
        int chosen = -1;
        for (std::size_t j = k; j < all.size() && all[j].summand == s.summand; ++j) {
            if (all[j].key == all[k].key && piece_at(j).region == s.region) {
                all[j].done = true;
                copies.push_back(all[j].source);
                chosen = chosen < 0 && piece_at(j).device == device ? all[j].source : chosen;
            }
        }
        if (chosen < 0) {
            chosen = copies[static_cast<std::size_t>(turn) % copies.size()];
            g.turns = std::lcm(g.turns, static_cast<int>(copies.size()));
        }
        const box overlap = intersect(s.region, target);
        const bool first = only >= 0 || s.summand == 0;
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

/// Bytes of what a target on `device` receives from others. What lies on no device (-1) is handed in and not counted.
template <class Piece>
TESSERA_VECTOR_CONSTEXPR index_t bytes_received(const copy_recipe& g, const std::vector<Piece>& sources, int device,
                                                index_t element_bytes) {
    index_t elements = 0;
    for (const segment& s : g.segments) {
        const int source = sources[static_cast<std::size_t>(s.source)].device;
        elements += source != device && source >= 0 ? s.region.volume() : 0;
    }
    return elements * element_bytes;
}

/// A redistribution as a value.
struct redistributed {
    collective kind = collective::none;
    index_t bytes = 0;                ///< that cross from one device to another, all devices together
    index_t worst_bytes = 0;          ///< most that one device receives
    std::vector<index_t> received;    ///< bytes, by device
    std::vector<index_t> sent;        ///< bytes, by device
    std::vector<copy_recipe> recipes; ///< one for each target
};

/// How the targets are filled from the sources, and what moves, without its name. A target that a source on its device
/// already is costs nothing. `by_part`: each target takes its own part of the sources, not the sum.
template <class Piece, class Result = redistributed>
constexpr Result move_pieces(const std::vector<Piece>& from, const std::vector<Piece>& to, index_t element_bytes,
                             bool by_part = false) {
    Result r;
    for (const std::vector<Piece>* pieces : {&from, &to}) {
        for (const piece& p : *pieces) {
            while (static_cast<int>(r.received.size()) <= p.device) {
                r.received.push_back(0);
                r.sent.push_back(0);
            }
        }
    }
    for (std::size_t i = 0; i < to.size(); ++i) {
        const piece& t = to[i];
        r.recipes.push_back(copy_recipe_for(from, t.region, t.device, static_cast<int>(i), by_part ? t.summand : -1));
        const index_t bytes = bytes_received(r.recipes.back(), from, t.device, element_bytes);
        r.bytes += bytes;
        index_t& own = r.received[static_cast<std::size_t>(t.device)];
        own += bytes;
        r.worst_bytes = own > r.worst_bytes ? own : r.worst_bytes;
        for (const segment& s : r.recipes.back().segments) {
            const int source = from[static_cast<std::size_t>(s.source)].device;
            if (source >= 0 && source != t.device) { // what lies on no device is handed in
                r.sent[static_cast<std::size_t>(source)] += s.region.volume() * element_bytes;
            }
        }
    }
    return r;
}

/// The same, and the collective that it is.
template <class Piece, class Result = redistributed>
constexpr Result redistribute(const std::vector<Piece>& from, const std::vector<Piece>& to, index_t element_bytes,
                              bool by_part = false) {
    Result r = move_pieces(from, to, element_bytes, by_part);
    r.kind = r.bytes == 0 ? collective::none : by_part ? collective::copy : classify(from, to);
    return r;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
