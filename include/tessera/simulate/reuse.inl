// SPDX-License-Identifier: Apache-2.0
// Bodies of reuse.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/reuse.hpp"

namespace tessera::simulation::detail {

TESSERA_INLINE void touch_history::touch(std::size_t range, index_t bytes) {
    if (when_[range] >= 0) {
        add(when_[range], -bytes);
    }
    when_[range] = now_;
    add(now_++, bytes);
}

TESSERA_INLINE void touch_history::add(index_t time, index_t bytes) {
    total_ += bytes;
    for (auto i = to_size(time) + 1; i < sums_.size(); i += i & (~i + 1)) {
        sums_[i] += bytes;
    }
}

TESSERA_INLINE index_t touch_history::up_to(index_t time) const {
    index_t sum = 0;
    for (auto i = to_size(time) + 1; i > 0; i -= i & (~i + 1)) {
        sum += sums_[i];
    }
    return sum;
}

TESSERA_INLINE address_ranges::address_ranges(const plan& p, const std::vector<std::vector<access>>& accesses) {
    for (const std::vector<access>& list : accesses) {
        for (const access& a : list) {
            const place x = place_of(p, a);
            cuts_.push_back({x.space, x.begin});
            cuts_.push_back({x.space, x.end});
        }
    }
    std::sort(cuts_.begin(), cuts_.end());
    cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
}

TESSERA_INLINE std::pair<std::size_t, std::size_t> address_ranges::of(const plan& p, const access& a) const {
    const place x = place_of(p, a);
    const auto find = [&](index_t at) {
        return to_size(std::lower_bound(cuts_.begin(), cuts_.end(), std::pair<int, index_t>{x.space, at}) -
                       cuts_.begin());
    };
    return {find(x.begin), find(x.end)};
}

TESSERA_INLINE address_ranges::place address_ranges::place_of(const plan& p, const access& a) {
    const tile& t = p.tiles[to_size(a.tile)];
    const index_t start = t.device < 0 || t.offset < 0 ? 0 : t.offset;
    const int space = t.device < 0 ? arenas_of_device * p.devices + t.tensor : arena_number(t);
    const bool part = t.kind != tile_kind::optimizer_state; // whose bytes hold several numbers an element
    const index_t each = bytes_of(t.type);
    return {space, start + (part ? a.elements.begin * each : 0),
            start + (part ? a.elements.end * each : std::max<index_t>(t.bytes, each))};
}

} // namespace tessera::simulation::detail

namespace tessera::simulation {

TESSERA_INLINE std::vector<std::vector<reuse>> reuse_of(const plan& p) {
    std::vector<std::vector<access>> accesses(p.tasks.size());
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        accesses_of(p, p.tasks[i], accesses[i]);
    }
    const detail::address_ranges where(p, accesses);
    std::vector<std::vector<std::pair<std::size_t, std::size_t>>> parts(p.tasks.size());
    std::size_t touches = 0;
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        for (const access& a : accesses[i]) {
            parts[i].push_back(where.of(p, a));
            touches += parts[i].back().second - parts[i].back().first;
        }
    }
    const auto devices = to_size(p.devices);
    detail::touch_history all(where.size(), 2 * touches);
    std::vector<detail::touch_history> own(devices, detail::touch_history(where.size(), 2 * touches));
    struct last_use {
        int user = -1;      // the device that touched it last
        bool wrote = false; // by a write
        index_t write = -1; // when it was written, counted in touches, and by whom
        int writer = -1;
        std::vector<index_t> by; // when every device touched it
    };
    std::vector<last_use> last(where.size());
    for (last_use& l : last) {
        l.by.assign(devices, -1);
    }
    index_t now = 0;
    std::vector<std::vector<reuse>> result(p.tasks.size());
    for (const bool second : {false, true}) {
        for (std::size_t i = 0; i < p.tasks.size(); ++i) {
            const auto d = to_size(p.tasks[i].device);
            for (std::size_t k = 0; second && k < accesses[i].size(); ++k) {
                reuse r;
                r.what = accesses[i][k];
                index_t largest = -1;
                for (std::size_t s = parts[i][k].first; s < parts[i][k].second; ++s) {
                    if (where.bytes(s) <= largest) {
                        continue;
                    }
                    largest = where.bytes(s);
                    const last_use& l = last[s];
                    r.all = all.since(s);
                    r.own = own[d].since(s) < 0 ? r.all : own[d].since(s);
                    r.written = l.wrote;
                    const bool rewritten = l.writer >= 0 && l.writer != static_cast<int>(d) && l.by[d] < l.write;
                    const bool looked_at = r.what.write && l.user != static_cast<int>(d);
                    r.held = rewritten ? holder::theirs : looked_at ? holder::shared : holder::own;
                }
                result[i].push_back(r);
            }
            for (std::size_t k = 0; k < accesses[i].size(); ++k) {
                for (std::size_t s = parts[i][k].first; s < parts[i][k].second; ++s) {
                    all.touch(s, where.bytes(s));
                    own[d].touch(s, where.bytes(s));
                    last_use& l = last[s];
                    l.user = static_cast<int>(d);
                    l.by[d] = now;
                    l.wrote = accesses[i][k].write;
                    if (l.wrote) {
                        l.writer = l.user;
                        l.write = now;
                    }
                    ++now;
                }
            }
        }
    }
    return result;
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
