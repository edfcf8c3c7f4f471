// SPDX-License-Identifier: Apache-2.0
// Bodies of lane_loads.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/optcnn/lane_loads.hpp"

namespace tessera::search::detail {

TESSERA_INLINE device_blocks::device_blocks(const cluster& on)
    : of_(to_size(on.devices())), out_(of_.size()), in_(of_.size()) {
    for (int d = 0; d < on.devices(); ++d) {
        of_[to_size(d)] = d;
    }
    if (!separates(on)) {
        for (int d = 0; d < on.devices(); ++d) {
            of_[to_size(d)] = on.node_of(d);
        }
        if (!separates(on)) {
            std::fill(of_.begin(), of_.end(), 0);
            latency_ = 0;
        }
    }
    for (int d = 0; d < on.devices(); ++d) {
        near_.emplace_back();
        for (int e = 0; e < on.devices(); ++e) {
            if (of_[to_size(e)] == of_[to_size(d)]) {
                near_.back().push_back(e);
            }
            has_far_ = has_far_ || of_[to_size(e)] != of_[to_size(d)];
        }
    }
}

TESSERA_INLINE bool device_blocks::separates(const cluster& on) {
    const int n = on.devices();
    latency_ = -1;
    for (int a = 0; a < n; ++a) {
        bool first = true;
        for (int b = 0; b < n; ++b) {
            if (of_[to_size(a)] == of_[to_size(b)]) {
                continue;
            }
            const route r = on.between(a, b);
            if (latency_ >= 0 && r.latency != latency_) {
                return false;
            }
            latency_ = r.latency;
            lanes common;
            for (const int lane : r.lanes) {
                if (first || has(out_[to_size(a)], lane)) {
                    common.push_back(lane);
                }
            }
            out_[to_size(a)] = common;
            first = false;
        }
    }
    std::vector<bool> known(to_size(n), false);
    for (int a = 0; a < n; ++a) {
        for (int b = 0; b < n; ++b) {
            if (of_[to_size(a)] == of_[to_size(b)]) {
                continue;
            }
            lanes rest;
            for (const int lane : on.between(a, b).lanes) {
                if (!has(out_[to_size(a)], lane)) {
                    rest.push_back(lane);
                }
            }
            if (known[to_size(b)] && !(rest == in_[to_size(b)])) {
                return false;
            }
            in_[to_size(b)] = rest;
            known[to_size(b)] = true;
        }
    }
    return true;
}

TESSERA_INLINE lane_loads::lane_loads(const cluster& on)
    : blocks_(on), devices_(on.devices()), lanes_(to_size(on.lanes())) {
    std::vector<int> order(to_size(on.lanes())); // lanes by speed, and the place of each
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int a, int b) {
        return on.lane_megabytes(a) != on.lane_megabytes(b) ? on.lane_megabytes(a) < on.lane_megabytes(b) : a < b;
    });
    std::vector<int> place(order.size());
    for (int i = 0; i < on.lanes(); ++i) {
        const int lane = order[to_size(i)];
        place[to_size(lane)] = i;
        if (speeds_.empty() || speeds_.back().megabytes != on.lane_megabytes(lane)) {
            speeds_.push_back({on.lane_megabytes(lane), i, i});
        }
        ++speeds_.back().end;
    }
    const auto placed = [&](device_blocks::lanes lanes) {
        for (int& lane : lanes) {
            lane = place[to_size(lane)];
        }
        return lanes;
    };
    for (int a = 0; a < devices_; ++a) {
        out_.push_back(placed(blocks_.out(a)));
        in_.push_back(placed(blocks_.in(a)));
        for (int b = 0; b < devices_; ++b) {
            const route r = on.between(a, b);
            routes_.push_back({placed(r.lanes), r.latency});
        }
    }
}

TESSERA_INLINE std::vector<index_t> lane_loads::edge_times(const tiles& from, const tiles& to, index_t element_bytes,
                                                           bool gradient) const {
    scratch x{std::vector<index_t>(lanes_, 0), std::vector<index_t>(lanes_, 0)};
    for (int k = 0; k < from.rank; ++k) {
        x.overlap.push_back(along(from, to, k));
    }
    std::vector<index_t> times;
    times.reserve(to_size(from.each.size()) * to_size(to.each.size()));
    for (int i = 0; i < from.each.size(); ++i) {
        for (int j = 0; j < to.each.size(); ++j) {
            times.push_back(time_of(from, from.each[i], to, to.each[j], element_bytes, gradient, x));
        }
    }
    return times;
}

TESSERA_INLINE lane_loads::overlaps lane_loads::along(const tiles& from, const tiles& to, int k) {
    overlaps o;
    o.wide = to_size(to.pieces[k].size());
    o.tall = to_size(from.pieces[k].size());
    const auto add = [](index_t a, index_t b) { return a + b; };
    o.common = cost::detail::common_sizes(from.pieces[k], to.pieces[k]);
    o.read = cost::detail::common_with(to.grids[k], to.pieces[k], from.pieces[k], add);
    o.written = cost::detail::common_with(from.grids[k], from.pieces[k], to.pieces[k], add);
    return o;
}

TESSERA_INLINE index_t lane_loads::copies(const tiles& t, const cost::tiled& c) {
    index_t pieces = 1;
    for (int k = 0; k < t.rank; ++k) {
        pieces *= t.grids[k][c.grids[k]].count;
    }
    return c.shards % (pieces * c.readers) == 0 ? c.shards / pieces : 0;
}

TESSERA_INLINE index_t lane_loads::time_of(const tiles& from, const cost::tiled& u, const tiles& to,
                                           const cost::tiled& v, index_t bytes, bool gradient, scratch& x) const {
    const int rank = from.rank;
    const std::uint16_t* p = from.places.begin() + u.first_place;
    const std::uint16_t* const q = to.places.begin() + v.first_place;
    const index_t readers = copies(to, v);
    const index_t writers = copies(from, u);
    const bool apart = blocks_.has_far() && readers > 0 && writers > 0;
    x.near.assign(to_size(v.shards), 0);
    x.latency = 0;
    for (int s = 0; s < u.shards; ++s, p += rank) {
        const index_t* row[max_rank]{};
        index_t all = readers; // that is read of what the shard has
        for (int k = 0; k < rank; ++k) {
            const overlaps& o = x.overlap[to_size(k)];
            row[k] = o.common.data() + p[k] * o.wide;
            all *= o.read[to_size(v.grids[k]) * o.tall + p[k]];
        }
        const auto look = [&](int t) -> index_t {
            const std::uint16_t* const piece = q + t * rank;
            index_t volume = 1;
            for (int k = 0; k < rank; ++k) {
                volume *= row[k][piece[k]];
            }
            if (s != t && volume > 0) {
                const near_route& there = routes_[to_size(s * devices_ + t)];
                x.latency = std::max(x.latency, there.latency);
                add(x.forth, there.lanes, volume);
                if (gradient) {
                    add(x.back, routes_[to_size(t * devices_ + s)].lanes, volume);
                }
            }
            x.near[to_size(t)] += volume;
            return volume;
        };
        if (!apart) {
            for (int t = 0; t < v.shards; ++t) {
                look(t);
            }
            continue;
        }
        for (const int t : blocks_.near(s)) {
            all -= t < v.shards ? look(t) : 0;
        }
        if (all > 0) {
            x.latency = std::max(x.latency, blocks_.latency());
            add(x.forth, out_[to_size(s)], all);
            if (gradient) {
                add(x.back, in_[to_size(s)], all);
            }
        }
    }
    for (int t = 0; t < v.shards && apart; ++t) {
        index_t far = writers;
        for (int k = 0; k < rank; ++k) {
            const overlaps& o = x.overlap[to_size(k)];
            far *= o.written[to_size(u.grids[k]) * o.wide + q[t * rank + k]];
        }
        far -= x.near[to_size(t)];
        if (far > 0) {
            add(x.forth, in_[to_size(t)], far);
            if (gradient) {
                add(x.back, out_[to_size(t)], far);
            }
        }
    }
    return arrived(x.forth, bytes, x.latency) + (gradient ? arrived(x.back, bytes, x.latency) : 0);
}

TESSERA_INLINE void lane_loads::add(loads& to, const device_blocks::lanes& lanes, index_t volume) {
    for (const int lane : lanes) {
        to[to_size(lane)] += volume;
    }
}

TESSERA_INLINE index_t lane_loads::arrived(loads& all, index_t bytes, index_t latency) const {
    index_t longest = 0;
    bool any = false;
    for (const alike_lanes& l : speeds_) {
        index_t most = 0;
        for (int lane = l.begin; lane < l.end; ++lane) {
            most = std::max(most, all[to_size(lane)]);
        }
        longest = std::max(longest, most * bytes * 1000 / l.megabytes);
        any = any || most > 0;
    }
    std::fill(all.begin(), all.end(), 0);
    return any ? latency + longest : 0;
}

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
