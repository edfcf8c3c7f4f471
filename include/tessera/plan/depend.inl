// SPDX-License-Identifier: Apache-2.0
// Bodies of depend.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/depend.hpp"

namespace tessera::detail {

TESSERA_INLINE void clocks::start(int t) {
    const std::size_t l = list_of(t);
    if (p_.is_queued(t)) { // where nothing is known of the tasks before it
        return;
    }
    if (last_[l] >= 0) {
        for (std::size_t k = 0; k < lists_; ++k) {
            row(t)[k] = row(last_[l])[k];
        }
    }
    row(t)[l] = p_.tasks[to_size(t)].position;
    last_[l] = t;
}

TESSERA_INLINE void clocks::require(int t, int other) {
    const std::size_t l = list_of(other);
    if (p_.is_queued(other)) {
        std::vector<int>& after = p_.tasks[to_size(t)].after;
        if (std::find(after.begin(), after.end(), other) == after.end()) {
            after.push_back(other);
        }
        for (std::size_t k = 0; k < lists_; ++k) {
            row(t)[k] = row(t)[k] > row(other)[k] ? row(t)[k] : row(other)[k];
        }
        return;
    }
    const int count = p_.tasks[to_size(other)].position + 1;
    if (row(t)[l] >= count) {
        return;
    }
    std::vector<wait_for>& waits = p_.tasks[to_size(t)].waits;
    bool merged = false;
    for (wait_for& w : waits) {
        if (w.list == static_cast<int>(l)) {
            w.count = count;
            merged = true;
        }
    }
    if (!merged) {
        waits.push_back({static_cast<int>(l), count});
    }
    for (std::size_t k = 0; k < lists_; ++k) {
        row(t)[k] = row(t)[k] > row(other)[k] ? row(t)[k] : row(other)[k];
    }
    row(t)[l] = count;
}

TESSERA_INLINE bool clocks::ordered(int earlier, int later) const {
    const std::size_t l = list_of(earlier);
    return before_[to_size(later) * lists_ + l] > p_.tasks[to_size(earlier)].position;
}

TESSERA_INLINE void clocks::add(past& to, int t) const {
    const int l = static_cast<int>(list_of(t));
    to.several = to.several || p_.is_queued(t) || (to.list >= 0 && to.list != l);
    to.list = l;
    to.count = std::max(to.count, p_.tasks[to_size(t)].position + 1);
}

TESSERA_INLINE std::size_t clocks::list_of(int t) const { return to_size(p_.list_of(p_.tasks[to_size(t)])); }

TESSERA_INLINE std::vector<std::vector<int>> sharing(const plan& p) {
    std::vector<std::vector<int>> of_arena(to_size(arenas_of_device * p.devices));
    std::vector<std::vector<int>> neighbours(p.tiles.size());
    const auto at = [&p](int i) -> const tile& { return p.tiles[to_size(i)]; };
    for (int i = 0; i < static_cast<int>(p.tiles.size()); ++i) {
        const tile& t = at(i);
        if (t.alias < 0 && t.device >= 0 && t.offset >= 0 && !is_persistent(t.kind)) {
            of_arena[to_size(arena_number(t))].push_back(i);
        }
    }
    for (std::vector<int>& list : of_arena) {
        std::sort(list.begin(), list.end(),
                  [&](int a, int b) { return at(a).offset != at(b).offset ? at(a).offset < at(b).offset : a < b; });
        for (std::size_t i = 0; i < list.size(); ++i) {
            const tile& x = at(list[i]);
            for (std::size_t j = i + 1; j < list.size() && at(list[j]).offset < x.offset + x.bytes; ++j) {
                if (x.offset < at(list[j]).offset + at(list[j]).bytes) {
                    neighbours[to_size(list[i])].push_back(list[j]);
                    neighbours[to_size(list[j])].push_back(list[i]);
                }
            }
        }
        for (int i : list) {
            std::sort(neighbours[to_size(i)].begin(), neighbours[to_size(i)].end());
        }
    }
    return neighbours;
}

} // namespace tessera::detail

namespace tessera {

TESSERA_INLINE void number_tasks(plan& p) {
    p.order.assign(to_size(p.lists()), {});
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        task& t = p.tasks[i];
        std::vector<int>& list = p.order[to_size(p.list_of(t))];
        t.position = static_cast<int>(list.size());
        list.push_back(static_cast<int>(i));
        t.waits.clear();
        t.after.clear();
    }
}

TESSERA_INLINE void set_waits(plan& p) {
    number_tasks(p);
    detail::clocks clock(p);
    const std::size_t n = p.tiles.size();
    std::vector<std::vector<std::pair<int, access>>> history(n);
    std::vector<detail::clocks::past> pasts(n); // the same in short: most neighbours are long over
    const std::vector<std::vector<int>> neighbours = detail::sharing(p);
    std::vector<access> own;
    detail::computed_so_far computed(p.devices);
    for (int i = 0; i < static_cast<int>(p.tasks.size()); ++i) {
        clock.start(i);
        const task& t = p.tasks[to_size(i)];
        computed.pass(t, i);
        computed.for_each_late(p.tiles, t, t.reads, [&](int last) { clock.require(i, last); });
        accesses_of(p, t, own);
        for (const access& a : own) {
            auto& past = history[to_size(a.tile)];
            const bool shared = p.streams > 1 || p.tasks[to_size(i)].params().message >= 0;
            if (a.write && (past.empty() || shared)) { // another list's task may write the rest
                for (int b : neighbours[to_size(a.tile)]) {
                    if (clock.knows(i, pasts[to_size(b)])) {
                        continue;
                    }
                    const auto& other = history[to_size(b)];
                    for (std::size_t k = other.size(); k-- > 0;) {
                        clock.require(i, other[k].first);
                    }
                }
            }
            for (std::size_t k = past.size(); k-- > 0;) {
                if (past[k].first != i && conflict(a, past[k].second)) {
                    clock.require(i, past[k].first);
                }
            }
        }
        for (const access& a : own) {
            history[to_size(a.tile)].push_back({i, a});
            clock.add(pasts[to_size(a.tile)], i);
        }
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
