// SPDX-License-Identifier: Apache-2.0
// Brute force over the points of a description: nothing here uses op/analysis.hpp.
#pragma once

#include "op/table.hpp"

#include <array>

namespace tests {

using point = std::array<ts::index_t, ts::max_loops>;
using element_index = std::array<ts::index_t, ts::max_rank>;

template <class Body>
void for_each_point(const ts::description& d, const ts::interval* ranges, Body&& body) {
    point p{};
    for (int l = 0; l < d.loops.size(); ++l) {
        if (ranges[l].empty()) {
            return;
        }
        p[ts::to_size(l)] = ranges[l].begin;
    }
    for (int l = 0; l >= 0;) {
        body(static_cast<const point&>(p));
        for (l = d.loops.size() - 1; l >= 0; --l) {
            const auto at = ts::to_size(l);
            if (++p[at] < ranges[l].end) {
                break;
            }
            p[at] = ranges[l].begin;
        }
    }
}

/// The index that an operand has at a point in dimension `k` (not `all`).
inline ts::index_t index_at(const ts::operand& o, int k, const point& p) {
    ts::index_t x = o.dim[k].offset;
    for (const ts::affine::term& t : o.dim[k].terms) {
        x += t.coefficient * p[ts::to_size(t.loop)];
    }
    return x;
}

inline element_index index_at(const ts::operand& o, const point& p) {
    element_index x{};
    for (int k = 0; k < o.extents.rank; ++k) {
        x[ts::to_size(k)] = o.dim[k].all ? 0 : index_at(o, k, p);
    }
    return x;
}

inline bool is_inside(const ts::operand& o, const element_index& x) {
    for (int k = 0; k < o.extents.rank; ++k) {
        const ts::index_t i = x[ts::to_size(k)];
        if (i < 0 || i >= o.extents[k]) {
            return false;
        }
    }
    return true;
}

inline ts::index_t row_major(const ts::operand& o, const element_index& x) {
    ts::index_t at = 0;
    for (int k = 0; k < o.extents.rank; ++k) {
        at = at * o.extents[k] + x[ts::to_size(k)];
    }
    return at;
}

/// True if a change of loop `l` alone changes the operand's index somewhere.
inline bool moves(const ts::description& d, const ts::operand& o, int l) {
    bool moved = false;
    loop_ranges all(d);
    all.range[l].end -= 1;
    for_each_point(d, all.range, [&](const point& p) {
        point next = p;
        ++next[ts::to_size(l)];
        moved = moved || index_at(o, p) != index_at(o, next);
    });
    return moved;
}

} // namespace tests
