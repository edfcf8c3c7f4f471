// SPDX-License-Identifier: Apache-2.0
// The additive model's edges for all pairs of configurations at once. Shards are boxes, so that overlaps are products
// over dimensions: what two configurations have in common along one dimension is worked out once for every pair of
// pieces.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/cost/additive.hpp"

#include <vector>

namespace tessera::cost {

/// A vector with the interface of fixed_vector that grows, for run time.
template <class T>
struct growing_vector {
    std::vector<T> items;

    int size() const { return static_cast<int>(items.size()); }
    T& operator[](int i) { return items[to_size(i)]; }
    const T& operator[](int i) const { return items[to_size(i)]; }
    bool push_back(const T& value) {
        items.push_back(value);
        return true;
    }
    T* begin() { return items.data(); }
    const T* begin() const { return items.data(); }
};

/// A list of at most Capacity elements in place, or, where Capacity is 0, of any number on the heap.
template <class T, int Capacity>
using list = std::conditional_t<Capacity == 0, growing_vector<T>, fixed_vector<T, Capacity>>;

/// All ways in which one dimension is cut by the same degrees.
struct grid {
    int degree[max_terms] = {1, 1, 1, 1};   ///< of the loops in the dimension's index
    int cuts[max_terms] = {-1, -1, -1, -1}; ///< where in the pool their cut points start, or -1
    int first = 0;                          ///< of its pieces
    int count = 0;
};

/// How one configuration cuts a tensor.
struct tiled {
    int shards = 1;
    int parts = 1;         ///< of a partial tensor
    int readers = 1;       ///< shards, not counting copies, that need the same piece
    int first_place = 0;   ///< rank numbers for each shard: its piece along each dimension
    int grids[max_rank]{}; ///< along each dimension
    /// How far apart the shards are that go from one piece to the next, along each dimension: configurations with the
    /// same grid and the same distance have their pieces in the same order.
    std::uint32_t apart[max_rank]{};
};

/// How all configurations of an operator cut one of its operands (its output, or what it needs of an input).
/// Capacities: Configurations, Pieces along one dimension, Shards of one configuration; 0 for any number.
template <int Configurations, int Pieces, int Shards>
struct tiling {
    int rank = 0;
    list<interval, Pieces> pieces[max_rank];
    list<grid, Pieces> grids[max_rank];
    list<tiled, Configurations> each;
    list<std::uint16_t, Configurations * Shards * 4> places;
    bool full = false; ///< a capacity was too small: not usable

    /// Adds a configuration on the default devices; `pool` has its cut points, if it has any. False if a capacity was
    /// too small.
    constexpr bool add(const description& d, int which, const configuration& c, const index_t* pool = nullptr) {
        const operand& o = d.operands[which];
        rank = o.extents.rank;
        tiled t;
        t.shards = c.shards();
        t.parts = parts_of_nest(c, d, d.nests.count - 1);
        t.first_place = places.size();
        for (int k = 0; k < rank; ++k) {
            t.grids[k] = find_grid(d, which, k, c, pool);
        }
        std::uint32_t indexed = 0;
        for (int k = 0; k < rank; ++k) {
            for (const affine::term& a : o.dim[k].terms) {
                indexed |= bit(a.loop);
            }
        }
        int before[max_loops]{}; // shards between two neighbours along the loop
        int stride = c.replicate * c.partial;
        for (int l = d.loops.count - 1; l >= 0; --l) {
            before[l] = stride;
            stride *= c.degree[l];
            t.readers *= has(indexed, l) ? 1 : c.degree[l];
        }
        for (int k = 0; k < rank; ++k) {
            t.apart[k] = distance(o.dim[k].terms, c, before);
        }
        for (int s = 0; s < t.shards && !full; ++s) {
            for (int k = 0; k < rank; ++k) {
                int piece = 0;
                for (const affine::term& a : o.dim[k].terms) {
                    const int degree = c.degree[a.loop];
                    piece = piece * degree + s / before[a.loop] % degree;
                }
                piece += grids[k][t.grids[k]].first;
                full = full || !places.push_back(static_cast<std::uint16_t>(piece));
            }
        }
        full = full || !each.push_back(t);
        return !full;
    }

private:
    /// Where several loops are split, a number that no other configuration has.
    template <class Terms>
    constexpr std::uint32_t distance(const Terms& terms, const configuration& c, const int* before) const {
        std::uint32_t all = 0;
        for (const affine::term& a : terms) {
            if (c.degree[a.loop] > 1) {
                all = all == 0 ? static_cast<std::uint32_t>(before[a.loop])
                               : (1U << 31) + static_cast<std::uint32_t>(each.size());
            }
        }
        return all;
    }

    constexpr int find_grid(const description& d, int which, int k, const configuration& c, const index_t* pool) {
        const auto& terms = d.operands[which].dim[k].terms;
        grid wanted;
        for (int i = 0; i < terms.count; ++i) {
            wanted.degree[i] = c.degree[terms.items[i].loop];
            wanted.cuts[i] = c.cuts[terms.items[i].loop];
        }
        for (int i = 0; i < grids[k].size(); ++i) {
            const grid& have = grids[k][i];
            bool same = true;
            for (int t = 0; t < terms.count; ++t) {
                same = same && have.degree[t] == wanted.degree[t] && have.cuts[t] == wanted.cuts[t];
            }
            if (same) {
                return i;
            }
        }
        wanted.first = pieces[k].size();
        wanted.count = detail::pieces_along(d.operands[which], k, c);
        for (int i = 0; i < wanted.count && !full; ++i) {
            full = !pieces[k].push_back(detail::piece_along(d, which, k, c, pool, i));
        }
        full = full || !grids[k].push_back(wanted);
        return full ? 0 : grids[k].size() - 1;
    }
};

namespace detail {

/// Along one dimension, what every piece of the one side has in common with every piece of the other: [piece][other].
template <class Pieces>
std::vector<index_t> common_sizes(const Pieces& pieces, const Pieces& others) {
    std::vector<index_t> all;
    all.reserve(pieces.items.size() * others.items.size());
    for (const interval& piece : pieces.items) {
        for (const interval& other : others.items) {
            all.push_back(intersect(piece, other).size());
        }
    }
    return all;
}

/// Along one dimension, for every grid of the one side and every piece of the other: what the grid's pieces have in
/// common with it, put together by `together`.
template <class Grids, class Pieces, class Together>
std::vector<index_t> common_with(const Grids& grids, const Pieces& pieces, const Pieces& others,
                                 const Together& together) {
    std::vector<index_t> all;
    for (const grid& g : grids.items) {
        for (const interval& other : others.items) {
            index_t common = 0;
            for (int i = g.first; i < g.first + g.count; ++i) {
                common = together(common, intersect(pieces[i], other).size());
            }
            all.push_back(common);
        }
    }
    return all;
}

/// What each of some intervals has in common with each of others. Returns the end of what was written.
constexpr index_t* overlaps(const interval* a, int tall, const interval* b, int wide, index_t* to) {
    for (int i = 0; i < tall; ++i) {
        for (int j = 0; j < wide; ++j) {
            const index_t lo = a[i].begin > b[j].begin ? a[i].begin : b[j].begin;
            const index_t hi = a[i].end < b[j].end ? a[i].end : b[j].end;
            *to++ = hi > lo ? hi - lo : 0;
        }
    }
    return to;
}

/// Sums of that over the intervals of each grid.
constexpr index_t* grid_overlaps(const index_t* common, int tall, int wide, const grid* grids, int count, index_t* to) {
    for (int n = 0; n < count; ++n) {
        for (int i = 0; i < tall; ++i) {
            index_t sum = 0;
            for (int j = grids[n].first; j < grids[n].first + grids[n].count; ++j) {
                sum += common[i * wide + j];
            }
            *to++ = sum;
        }
    }
    return to;
}

} // namespace detail

/// t_X of one edge for every pair of configurations: times[i * (number of the consumer's) + j]. `from` tiles the
/// producer's output, `to` what the consumer needs of it. Equals bytes_between(...).time(on) for default placements
/// where nothing partial is passed on.
///
/// `scratch` has room for what every piece has in common with every piece and grid of the other side, and for twice as
/// many numbers as the consumer has shards at most, and two.
///
/// Shard s of both runs on device s, so what it has of its own is the same volume in both directions: forward, it
/// receives parts * needed - own; backward, what all readers read of its piece, - own.
template <class From, class To>
constexpr void edge_times(const From& from, const To& to, index_t element_bytes, bool gradient, const machine& on,
                          index_t* scratch, index_t* times) {
    const int rank = from.rank;
    const index_t* common[max_rank]{}; // [producer's piece][consumer's piece]
    const index_t* sums[max_rank]{};   // [consumer's grid][producer's piece]
    const index_t* sum_of[max_rank]{};
    int wide[max_rank]{};
    int tall[max_rank]{};
    for (int k = 0; k < rank; ++k) {
        const interval* a = from.pieces[k].begin();
        const interval* b = to.pieces[k].begin();
        const grid* g = to.grids[k].begin();
        wide[k] = to.pieces[k].size();
        tall[k] = from.pieces[k].size();
        common[k] = scratch;
        sums[k] = scratch = detail::overlaps(a, tall[k], b, wide[k], scratch);
        scratch = detail::grid_overlaps(common[k], tall[k], wide[k], g, to.grids[k].size(), scratch);
    }
    const int count = to.each.size();
    const int producers = from.each.size();
    const tiled* u = from.each.begin();
    const tiled* v = to.each.begin();
    for (int j = 0; j < count; ++j) {
        const std::uint16_t* q = to.places.begin() + v[j].first_place;
        for (int k = 0; k < rank; ++k) {
            sum_of[k] = sums[k] + v[j].grids[k] * tall[k];
        }
        const int readers = v[j].shards;
        index_t* needed = scratch;
        index_t* largest = scratch + readers + 1; // region that a shard or a later one needs
        largest[readers] = 0;
        for (int s = readers - 1; s >= 0; --s) {
            index_t volume = 1;
            for (int k = 0; k < rank; ++k) {
                volume *= to.pieces[k][q[s * rank + k]].size();
            }
            needed[s] = volume;
            largest[s] = volume > largest[s + 1] ? volume : largest[s + 1];
        }
        for (int i = 0; i < producers; ++i) {
            const std::uint16_t* p = from.places.begin() + u[i].first_place;
            const index_t parts = u[i].parts;
            const int both = u[i].shards < readers ? u[i].shards : readers;
            index_t forward = parts * largest[both];
            index_t backward = 0;
            for (int s = 0; s < u[i].shards; ++s) {
                index_t own = 0;
                index_t read = v[j].readers;
                if (s < both) {
                    own = 1;
                    for (int k = 0; k < rank; ++k) {
                        const int mine = p[s * rank + k];
                        own *= common[k][mine * wide[k] + q[s * rank + k]];
                        read *= sum_of[k][mine];
                    }
                    const index_t missing = parts * needed[s] - own;
                    forward = missing > forward ? missing : forward;
                } else {
                    for (int k = 0; k < rank; ++k) {
                        read *= sum_of[k][p[s * rank + k]];
                    }
                }
                backward = read - own > backward ? read - own : backward;
            }
            times[i * count + j] =
                on.transfer_time(forward * element_bytes) + (gradient ? on.transfer_time(backward * element_bytes) : 0);
        }
    }
}

} // namespace tessera::cost

#include "tessera/base/end_header.inl"
