// SPDX-License-Identifier: Apache-2.0
// Bodies of element_move.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/task/element_move.hpp"

namespace tessera {

TESSERA_INLINE index_t element_move::written() const {
    index_t all = 1;
    for (int l = 0; l < kept; ++l) {
        all *= count[l];
    }
    return all;
}

TESSERA_INLINE index_t element_move::summed() const {
    index_t all = 1;
    for (int l = kept; l < loops; ++l) {
        all *= count[l];
    }
    return all;
}

} // namespace tessera

namespace tessera::detail {

TESSERA_INLINE strides_of::strides_of(const operand& o, const box& region, const interval* ranges) {
    index_t stride = 1;
    for (int k = o.extents.rank - 1; k >= 0; --k) {
        start += (o.dim[k].offset - region.dim[k].begin) * stride;
        for (const affine::term& t : o.dim[k].terms) {
            start += t.coefficient * ranges[t.loop].begin * stride;
            step[t.loop] += t.coefficient * stride;
        }
        stride *= region.dim[k].size();
    }
}

TESSERA_INLINE void clip(const operand& o, interval* ranges) {
    for (int k = 0; k < o.extents.rank; ++k) {
        const affine& a = o.dim[k];
        if (a.terms.size() != 1) {
            continue;
        }
        const index_t c = a.terms[0].coefficient;
        const index_t size = c > 0 ? c : -c;
        interval& r = ranges[a.terms[0].loop];
        const index_t low = c > 0 ? -a.offset : a.offset - o.extents[k] + 1; // least value of size * loop ...
        const index_t high = c > 0 ? o.extents[k] - 1 - a.offset : a.offset; // ... and largest
        const index_t first = low <= 0 ? 0 : (low + size - 1) / size;
        const index_t end = high < 0 ? 0 : high / size + 1;
        r.begin = r.begin > first ? r.begin : first;
        r.end = r.end < end ? r.end : end;
        r.end = r.end < r.begin ? r.begin : r.end;
    }
}

TESSERA_INLINE void join_loops(element_move& m, int first, int last, const index_t* by) {
    const auto swap = [&](int a, int b) {
        const index_t keep[3] = {m.count[a], m.from[a], m.to[a]};
        m.count[a] = m.count[b];
        m.from[a] = m.from[b];
        m.to[a] = m.to[b];
        m.count[b] = keep[0];
        m.from[b] = keep[1];
        m.to[b] = keep[2];
    };
    for (int a = first + 1; a < last; ++a) {
        for (int b = a; b > first && distance(by[b]) > distance(by[b - 1]); --b) {
            swap(b, b - 1);
        }
    }
    for (int a = last - 1; a > first; --a) {
        const int outer = a - 1;
        if (m.from[outer] != m.count[a] * m.from[a] || m.to[outer] != m.count[a] * m.to[a]) {
            continue;
        }
        m.count[outer] *= m.count[a];
        m.from[outer] = m.from[a];
        m.to[outer] = m.to[a];
        for (int b = a; b + 1 < m.loops; ++b) {
            swap(b, b + 1);
        }
        --m.loops;
        m.kept -= a < m.kept ? 1 : 0;
    }
}

} // namespace tessera::detail

namespace tessera {

TESSERA_INLINE element_move move_between(const description& d, int from, const box& from_region, int to,
                                         const box& to_region, const interval* shard) {
    interval ranges[max_loops];
    for (int l = 0; l < d.loops.size(); ++l) {
        ranges[l] = shard[l];
    }
    detail::clip(d.operands[from], ranges);
    detail::clip(d.operands[to], ranges);
    const detail::strides_of source(d.operands[from], from_region, ranges);
    const detail::strides_of target(d.operands[to], to_region, ranges);
    element_move m;
    m.from_start = source.start;
    m.to_start = target.start;
    for (const bool summed : {false, true}) {
        for (int l = 0; l < d.loops.size(); ++l) {
            if (ranges[l].size() != 1 && (target.step[l] == 0) == summed) {
                m.count[m.loops] = ranges[l].size();
                m.from[m.loops] = source.step[l];
                m.to[m.loops++] = target.step[l];
            }
        }
        m.kept = summed ? m.kept : m.loops;
    }
    detail::join_loops(m, m.kept, m.loops, m.from);
    detail::join_loops(m, 0, m.kept, m.to);
    return m;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
