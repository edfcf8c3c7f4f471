// SPDX-License-Identifier: Apache-2.0
// The name of the collective that a redistribution is, if any.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/constant_vector.hpp"
#include "tessera/layout/piece.hpp"

namespace tessera {

enum class collective : std::uint8_t {
    none,           ///< nothing moves: the layouts are the same, or each device takes a slice of what it has
    send,           ///< from one device to another
    broadcast,      ///< one device's tensor to several
    scatter,        ///< one device's tensor in pieces to several
    gather,         ///< everyone's piece to one
    reduce,         ///< partial tensors summed by one
    all_gather,     ///< everyone's piece to everyone
    reduce_scatter, ///< partial tensors summed, each device keeps a piece
    all_reduce,     ///< partial tensors summed, each device keeps the whole
    all_to_all,     ///< from pieces along one dimension to pieces along another
    halo_exchange,  ///< everyone keeps its piece and receives its neighbours' borders, or adds them up
    copy,           ///< regions move between devices in no special pattern
};

constexpr const char* to_text(collective c) {
    constexpr const char* names[] = {"none",       "send",       "broadcast",     "scatter",
                                     "gather",     "reduce",     "all-gather",    "reduce-scatter",
                                     "all-reduce", "all-to-all", "halo exchange", "copy"};
    return names[static_cast<int>(c)];
}

namespace detail {

/// What classify asks of a list of pieces.
struct pieces_facts {
    int count = 0;
    int devices = 0;      ///< different ones
    int parts = 0;        ///< different ones
    bool whole = true;    ///< every piece is the tensor
    bool disjoint = true; ///< no two pieces overlap
    bool even = true;     ///< all have the same volume
    bool distinct = true; ///< no two lie on one device
};

template <class Piece>
constexpr pieces_facts facts_of(const std::vector<Piece>& pieces, const box& tensor) {
    pieces_facts f;
    f.count = static_cast<int>(pieces.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const piece& p = pieces[i];
        bool same_device = false;
        bool same_part = false;
        for (std::size_t j = 0; j < i; ++j) {
            same_device = same_device || pieces[j].device == p.device;
            same_part = same_part || pieces[j].summand == p.summand;
            f.disjoint = f.disjoint && common_volume(pieces[j].region, p.region) == 0;
        }
        f.devices += same_device ? 0 : 1;
        f.parts += same_part ? 0 : 1;
        f.whole = f.whole && p.region == tensor;
        f.even = f.even && p.region.volume() == pieces[0].region.volume();
    }
    f.distinct = f.devices == f.count;
    return f;
}

template <class Piece>
constexpr bool same_devices(const std::vector<Piece>& a, const std::vector<Piece>& b) {
    bool all = true;
    for (const piece& x : a) {
        bool there = false;
        for (const piece& y : b) {
            there = there || x.device == y.device;
        }
        all = all && there;
    }
    return all && a.size() == b.size();
}

constexpr void grow(box& hull, const box& by) {
    for (int d = 0; d < hull.rank; ++d) {
        const interval& x = by.dim[d];
        hull.dim[d].begin = x.begin < hull.dim[d].begin ? x.begin : hull.dim[d].begin;
        hull.dim[d].end = x.end > hull.dim[d].end ? x.end : hull.dim[d].end;
    }
}

/// True where each device keeps of its piece all that anybody needs: what it receives besides are borders.
template <class Piece>
constexpr bool keeps_own(const std::vector<Piece>& from, const std::vector<Piece>& to) {
    box hull = to[0].region;
    for (const piece& t : to) {
        grow(hull, t.region);
    }
    bool keeps = true;
    for (const piece& s : from) {
        for (const piece& t : to) {
            keeps = keeps && (s.device != t.device || t.region.contains(intersect(s.region, hull)));
        }
    }
    return keeps;
}

/// The collective of devices that all have to do with each other.
template <class Piece>
constexpr collective classify_group(const std::vector<Piece>& from, const std::vector<Piece>& to) {
    box all = from[0].region;
    for (const piece& p : from) {
        grow(all, p.region);
    }
    const pieces_facts a = facts_of(from, all);
    const pieces_facts b = facts_of(to, all);
    const bool everyone = a.distinct && b.distinct && same_devices(from, to);
    if (a.parts > 1) {
        if (a.whole && b.whole && b.count == 1 && a.parts == a.count) {
            return collective::reduce;
        }
        if (a.whole && everyone && a.parts == a.count) {
            return b.whole ? collective::all_reduce : b.disjoint ? collective::reduce_scatter : collective::copy;
        }
        // Contributions that overlap at their borders: what the exchange of halos forward is backward.
        return everyone && !a.disjoint && b.disjoint && a.parts == a.count && keeps_own(to, from)
                   ? collective::halo_exchange
                   : collective::copy;
    }
    if (a.count == 1) {
        return b.count == 1                  ? collective::send
               : b.whole && b.distinct       ? collective::broadcast
               : b.disjoint && b.devices > 1 ? collective::scatter
                                             : collective::copy;
    }
    if (b.count == 1) {
        return b.whole && a.disjoint ? collective::gather : collective::copy;
    }
    if (!a.disjoint || !everyone) {
        return collective::copy;
    }
    if (b.whole) {
        return a.even ? collective::all_gather : collective::copy;
    }
    if (!b.disjoint) {
        return keeps_own(from, to) ? collective::halo_exchange : collective::copy;
    }
    bool each_to_each = true;
    for (const piece& s : from) {
        for (const piece& t : to) {
            each_to_each = each_to_each && common_volume(s.region, t.region) > 0;
        }
    }
    return each_to_each ? collective::all_to_all : collective::copy;
}

} // namespace detail

/// Names the collective that a redistribution which moves something is: by what each device has and needs, whatever the
/// dimensions. Devices that have nothing to do with each other (the rows of a mesh) make a group each, and all groups
/// the same collective.
template <class Piece>
TESSERA_VECTOR_CONSTEXPR collective classify(const std::vector<Piece>& from, const std::vector<Piece>& to) {
    std::vector<char> from_seen; // without a count in the constructor, which clang 14 does not evaluate
    std::vector<char> to_seen;
    for (std::size_t i = 0; i < from.size(); ++i) {
        from_seen.push_back(0);
    }
    for (std::size_t i = 0; i < to.size(); ++i) {
        to_seen.push_back(0);
    }
    collective kind = collective::none;
    for (std::size_t first = 0; first < from.size(); ++first) {
        if (from_seen[first] != 0) {
            continue;
        }
        from_seen[first] = 1;
        std::vector<Piece> sources{from[first]};
        std::vector<Piece> targets;
        for (bool more = true; more;) {
            more = false;
            for (std::size_t j = 0; j < to.size(); ++j) {
                for (std::size_t i = 0; i < sources.size() && to_seen[j] == 0; ++i) {
                    if (common_volume(sources[i].region, to[j].region) > 0) {
                        to_seen[j] = 1;
                        targets.push_back(to[j]);
                        more = true;
                    }
                }
            }
            for (std::size_t i = 0; i < from.size(); ++i) {
                for (std::size_t j = 0; j < targets.size() && from_seen[i] == 0; ++j) {
                    if (common_volume(from[i].region, targets[j].region) > 0) {
                        from_seen[i] = 1;
                        sources.push_back(from[i]);
                        more = true;
                    }
                }
            }
        }
        if (targets.empty()) { // nobody needs it
            continue;
        }
        const collective own = detail::classify_group(sources, targets);
        if (kind != collective::none && kind != own) {
            return collective::copy;
        }
        kind = own;
    }
    return kind;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
