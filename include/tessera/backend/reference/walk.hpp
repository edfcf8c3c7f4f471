// SPDX-License-Identifier: Apache-2.0
// Walks the points of a loop nest and, with them, the elements of its operands: an affine index makes every operand's
// place in memory an affine function of the loops too, so that the innermost loop is a run with one constant step per
// operand.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/analysis.hpp"

namespace tessera::reference::detail {

/// The place of an operand's element in a dense array, as an affine function of the loops.
struct cursor {
    index_t base = 0;
    index_t step[max_loops]{};
};

/// Distance between two indices of dimension `d` in a dense array over `region`.
index_t stride_in(const box& region, int d);
/// The place of an element in a dense array over `region`, of rank 3.
index_t place_in(const box& region, index_t i, index_t j, index_t k);

/// The operand's element in a dense array over `region`. A dimension without an index (`all`) stays at its first
/// element.
cursor place(const operand& o, const box& region);

/// A condition at every point: 0 <= offset + sum of step * loop < extent.
struct bound {
    index_t offset = 0;
    index_t step[max_loops]{};
    index_t extent = 0;
};

/// Consecutive points of the innermost loop: operand j's elements are at at[j], at[j] + step[j], ...
template <int Count>
struct run {
    index_t at[to_size(Count)]{};
    index_t step[to_size(Count)]{};
    index_t count = 0;
    index_t point[max_loops]{}; ///< the loops at the first point
};

/// The points of `loops` (a bit mask) over `ranges`, outermost loop first, without those where the index of an operand
/// in `inside` falls outside its tensor: padding adds nothing to a sum, and the inputs of a concatenation exclude each
/// other.
template <int Count>
struct walker {
    cursor cursors[to_size(Count)];
    int order[max_loops]{};
    int depth = 0;
    const interval* ranges = nullptr;
    fixed_vector<bound, 2 * max_rank> bounds;
    run<Count> current;

    walker(const description& d, std::uint32_t loops, const interval* loop_ranges, std::uint32_t inside,
           const cursor (&where)[to_size(Count)])
        : ranges(loop_ranges) {
        for (int j = 0; j < Count; ++j) {
            cursors[j] = where[j];
        }
        for (int l = 0; l < d.loops.size(); ++l) {
            if (has(loops, l)) {
                order[depth++] = l;
            }
        }
        for (int o = 0; o < d.operands.size(); ++o) {
            for (int k = 0; has(inside, o) && k < d.operands[o].extents.rank; ++k) {
                add_bound(d.operands[o].dim[k], d.operands[o].extents[k]);
            }
        }
    }

    template <class Body>
    void go(Body&& body) {
        for (int i = 0; i < depth; ++i) {
            if (ranges[order[i]].empty()) {
                return;
            }
        }
        for (int j = 0; j < Count; ++j) {
            current.at[j] = cursors[j].base;
            current.step[j] = depth > 0 ? cursors[j].step[order[depth - 1]] : 0;
        }
        depth > 0 ? descend(0, body) : at_one_point(body);
    }

private:
    /// Keeps the condition only where some point of the ranges breaks it.
    void add_bound(const affine& a, index_t extent) {
        if (a.all) {
            return;
        }
        bound b{a.offset, {}, extent};
        index_t lo = a.offset;
        index_t hi = a.offset;
        for (const affine::term& t : a.terms) {
            b.step[t.loop] += t.coefficient;
            const index_t first = t.coefficient * ranges[t.loop].begin;
            const index_t last = t.coefficient * (ranges[t.loop].end - 1);
            lo += first < last ? first : last;
            hi += first < last ? last : first;
        }
        if (lo < 0 || hi >= extent) {
            bounds.push_back(b);
        }
    }

    /// Over no loops, as what a nest makes of one number.
    template <class Body>
    void at_one_point(Body& body) {
        for (const bound& b : bounds) {
            if (b.offset < 0 || b.offset >= b.extent) {
                return;
            }
        }
        current.count = 1;
        body(static_cast<const run<Count>&>(current));
    }

    template <class Body>
    void descend(int level, Body& body) {
        const int l = order[level];
        if (level + 1 < depth) {
            for (index_t x = ranges[l].begin; x < ranges[l].end; ++x) {
                shift(l, x);
                descend(level + 1, body);
                shift(l, -x);
            }
            return;
        }
        index_t lo = ranges[l].begin;
        index_t hi = ranges[l].end;
        for (const bound& b : bounds) {
            const index_t c = b.step[l];
            if (c == 0) {
                if (b.offset < 0 || b.offset >= b.extent) {
                    return;
                }
                continue;
            }
            // Where the index falls as the loop grows, it is the loop's end that the tensor's begin sets.
            const index_t size = c > 0 ? c : -c;
            const index_t below =
                c > 0 ? -b.offset : b.offset - b.extent + 1; // of what the first point has to make up for
            const index_t above = c > 0 ? b.extent - 1 - b.offset : b.offset;
            const index_t first = below <= 0 ? 0 : (below + size - 1) / size;
            const index_t end = above < 0 ? 0 : above / size + 1;
            lo = lo > first ? lo : first;
            hi = hi < end ? hi : end;
        }
        if (lo < hi) {
            current.count = hi - lo;
            shift(l, lo);
            body(static_cast<const run<Count>&>(current));
            shift(l, -lo);
        }
    }

    /// Moves everything by `x` steps of loop `l`.
    void shift(int l, index_t x) {
        current.point[l] += x;
        for (int j = 0; j < Count; ++j) {
            current.at[j] += x * cursors[j].step[l];
        }
        for (bound& b : bounds) {
            b.offset += x * b.step[l];
        }
    }
};

template <std::size_t Count, class Body>
void walk(const description& d, std::uint32_t loops, const interval* ranges, std::uint32_t inside,
          const cursor (&where)[Count], Body&& body) {
    walker<static_cast<int>(Count)> w(d, loops, ranges, inside, where);
    w.go(body);
}

} // namespace tessera::reference::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/reference/walk.inl"
#endif

#include "tessera/base/end_header.inl"
