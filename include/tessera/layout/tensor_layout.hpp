// SPDX-License-Identifier: Apache-2.0
// The layout of a tensor as a value: how each dimension is split, how often each shard is there, and where.
#pragma once

#include "tessera/layout/redistribute.hpp"

#include <string>

namespace tessera {

/// How one tensor is partitioned. Its shards are a grid: the ranges along each dimension, which overlap where windows do. Every shard consists of
/// `partial` summands, and there are `replicate` copies of each.
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
    constexpr interval range(int dimension, int i) const {
        for (int d = 0; d < dimension; ++d) {
            i += shards[d];
        }
        return ranges[static_cast<std::size_t>(i)];
    }
    constexpr box region(int number) const {
        box b{extents.rank, {}};
        for (int d = extents.rank - 1; d >= 0; --d) {
            b.dim[d] = range(d, number % shards[d]);
            number /= shards[d];
        }
        return b;
    }
    /// Every shard, summand and copy.
    constexpr std::vector<piece> pieces() const {
        std::vector<piece> all;
        for (int i = 0; i < count(); ++i) {
            const int part = i / replicate % partial;
            const int number = i / replicate / partial;
            all.push_back(
                {region(number), devices[static_cast<std::size_t>(i)], adds ? number * partial + part : part, -1});
        }
        return all;
    }
    friend constexpr bool operator==(const tensor_layout& a, const tensor_layout& b) {
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

namespace detail {

/// What one shard holds, by its place in a layout.
struct held_shard {
    int box = 0;
    int part = 0;
    int device = 0;

    constexpr bool comes_before(const held_shard& other) const {
        return box < other.box || (box == other.box && part < other.part);
    }
};

/// The ranges of an operand's dimension, one for each combination of the places along the loops in its index, the last loop fastest.
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

/// The layout of what an operator's shards hold of an operand. Without devices where a loop indexes two dimensions, whose shards are no grid.
constexpr tensor_layout layout_of_operand(const description& d, int which, const configuration& c, const index_t* pool,
                                          held what) {
    const operand& o = d.operands[which];
    const bool contributes = what == held::gradient && o.kind != operand_kind::output;
    tensor_layout l;
    l.extents = o.extents;
    l.type = o.type;
    for (int k = 0; k < o.extents.rank; ++k) {
        detail::append_ranges(l, d, which, k, c, pool);
        for (int i = 1; i < l.shards[k]; ++i) {
            l.adds = l.adds || (contributes && l.range(k, i).begin < l.range(k, i - 1).end);
        }
    }
    std::vector<detail::held_shard> all; // in the layout's order; shards mostly come in it
    for (int i = 0; i < c.shards(); ++i) {
        const shard s = shard_at(c, pool, d, i);
        if (contributes && o.additive && !is_first_part(s, d)) {
            continue;
        }
        detail::held_shard x{0, piece_of(d, which, c, s, what).part, s.device};
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
        l.partial += i == 0 || all[k].part != all[k - 1].part ? 1 : 0;
    }
    l.replicate = l.partial > 0 ? each / l.partial : 1;
    bool grid = l.partial > 0 && static_cast<int>(all.size()) == boxes * l.partial * l.replicate;
    for (std::size_t i = 0; i < all.size(); ++i) {
        grid = grid && all[i].box == static_cast<int>(i) / each &&
               (i % static_cast<std::size_t>(l.replicate) == 0 || all[i].part == all[i - 1].part);
        l.devices.push_back(all[i].device);
    }
    if (!grid) {
        l.devices.clear();
    }
    return l;
}

/// The pieces of a layout that hold something.
constexpr std::vector<piece> filled_pieces(const tensor_layout& from) {
    std::vector<piece> all;
    for (const piece& p : from.pieces()) {
        if (!p.region.empty()) {
            all.push_back(p);
        }
    }
    return all;
}

/// What a device needs twice (two of its shards read one region) it receives once, as in a plan.
constexpr std::vector<piece> needed_once(const tensor_layout& to) {
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

/// From one layout of a tensor to another. Where both are partial, every summand goes to where it is needed; otherwise they are added up.
constexpr redistributed redistribute(const tensor_layout& from, const tensor_layout& to) {
    return redistribute(filled_pieces(from), needed_once(to), bytes_of(from.type), to.partial > 1);
}

/// "64x320 f32, dimension 0 in 2, on devices 0 1"
inline std::string to_text(const tensor_layout& l) {
    std::string text;
    for (int d = 0; d < l.extents.rank; ++d) {
        text += (d > 0 ? "x" : "") + std::to_string(l.extents[d]);
    }
    text += std::string(text.empty() ? "scalar " : " ") + to_text(l.type);
    for (int d = 0; d < l.extents.rank; ++d) {
        bool even = true;
        for (int i = 0; i < l.shards[d]; ++i) {
            even = even && l.range(d, i) == even_part(l.extents[d], l.shards[d], i);
        }
        if (l.shards[d] == 1 && even) {
            continue;
        }
        text += ", dimension " + std::to_string(d) + (even ? " in " + std::to_string(l.shards[d]) : " in");
        for (int i = 0; i < l.shards[d] && !even; ++i) {
            text += " " + std::to_string(l.range(d, i).begin) + ":" + std::to_string(l.range(d, i).end);
        }
    }
    text += l.partial > 1 ? ", " + std::to_string(l.partial) + " summands" : "";
    text += l.adds ? ", overlaps added up" : "";
    text += l.replicate > 1 ? ", " + std::to_string(l.replicate) + " copies" : "";
    text += l.devices.size() == 1 ? ", on device" : ", on devices";
    for (const int d : l.devices) {
        text += " " + std::to_string(d);
    }
    return text;
}

/// "all-gather of 81920 bytes: device 0 receives 40960 and sends 40960, ..."
inline std::string to_text(const redistributed& r) {
    if (r.bytes == 0) {
        return "nothing moves";
    }
    std::string text = std::string(to_text(r.kind)) + ", " + std::to_string(r.bytes) + " bytes";
    const char* before = ": ";
    for (std::size_t d = 0; d < r.received.size(); ++d) {
        if (r.received[d] != 0 || r.sent[d] != 0) {
            text += before + ("device " + std::to_string(d)) + " receives " + std::to_string(r.received[d]) +
                    " and sends " + std::to_string(r.sent[d]);
            before = ", ";
        }
    }
    return text;
}

} // namespace tessera
