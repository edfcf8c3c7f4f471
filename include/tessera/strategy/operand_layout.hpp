// SPDX-License-Identifier: Apache-2.0
// The layout in which an operator's shards hold an operand, as a value.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/layout/tensor_layout.hpp"
#include "tessera/strategy/pieces.hpp"

namespace tessera {

namespace detail {

/// What one shard holds, by its place in a layout.
struct shard_piece {
    int box = 0;
    int summand = 0;
    int device = 0;

    constexpr bool comes_before(const shard_piece& other) const {
        return box < other.box || (box == other.box && summand < other.summand);
    }
};

/// The ranges of an operand's dimension, one for each combination of the places along the loops in its index, the last
/// loop fastest.
constexpr void append_ranges(tensor_layout& l, const description& d, int which, int k, const configuration& c,
                             const index_t* pool) {
    const operand& o = d.operands[which];
    l.shards[k] = 1;
    for (const affine::term& t : o.dim[k].terms) {
        l.shards[k] *= o.dim[k].all ? 1 : c.degree[t.loop];
    }
    for (int i = 0; i < l.shards[k]; ++i) {
        loop_ranges at(d);
        int number = i;
        for (int t = o.dim[k].terms.size() - 1; t >= 0 && !o.dim[k].all; --t) {
            const int loop_index = o.dim[k].terms[t].loop;
            at.range[loop_index] = range_of(c, pool, d, loop_index, number % c.degree[loop_index]);
            number /= c.degree[loop_index];
        }
        l.ranges.push_back(region(d, which, at.range).dim[k]);
    }
}

} // namespace detail

/// The layout of what an operator's shards hold of an operand. Without devices where a loop indexes two dimensions,
/// whose shards are no grid.
TESSERA_VECTOR_CONSTEXPR tensor_layout layout_of_operand(const description& d, int which, const configuration& c,
                                                         const index_t* pool, operand_tensor what) {
    const operand& o = d.operands[which];
    const bool contributes = what == operand_tensor::gradient && o.kind != operand_kind::output;
    tensor_layout l;
    l.extents = o.extents;
    l.type = o.type;
    for (int k = 0; k < o.extents.rank; ++k) {
        detail::append_ranges(l, d, which, k, c, pool);
        for (int i = 1; i < l.shards[k]; ++i) {
            l.adds = l.adds || (contributes && l.range(k, i).begin < l.range(k, i - 1).end);
        }
    }
    std::vector<detail::shard_piece> all; // in the layout's order; shards mostly come in it
    for (int i = 0; i < c.shards(); ++i) {
        const shard s = shard_at(c, pool, d, i);
        if (contributes && o.additive && !is_first_part(s, d)) {
            continue;
        }
        detail::shard_piece x{0, piece_of(d, which, c, s, what).summand, s.device};
        for (int k = 0; k < o.extents.rank; ++k) {
            int place = 0;
            for (const affine::term& t : o.dim[k].terms) {
                place = o.dim[k].all ? 0 : place * c.degree[t.loop] + s.index[t.loop];
            }
            x.box = x.box * l.shards[k] + place;
        }
        std::size_t at = all.size();
        all.push_back(x);
        for (; at > 0 && x.comes_before(all[at - 1]); --at) {
            all[at] = all[at - 1];
        }
        all[at] = x;
    }
    const int boxes = l.boxes();
    const auto each = static_cast<int>(all.size()) / boxes;
    l.partial = 0;
    for (int i = 0; i < each; ++i) {
        const auto k = static_cast<std::size_t>(i);
        l.partial += i == 0 || all[k].summand != all[k - 1].summand ? 1 : 0;
    }
    l.replicate = l.partial > 0 ? each / l.partial : 1;
    bool grid = l.partial > 0 && static_cast<int>(all.size()) == boxes * l.partial * l.replicate;
    for (std::size_t i = 0; i < all.size(); ++i) {
        grid = grid && all[i].box == static_cast<int>(i) / each &&
               (i % static_cast<std::size_t>(l.replicate) == 0 || all[i].summand == all[i - 1].summand);
        l.devices.push_back(all[i].device);
    }
    if (!grid) {
        l.devices.clear();
    }
    return l;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
