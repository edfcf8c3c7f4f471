// SPDX-License-Identifier: Apache-2.0
// Bodies of remote_writes_of_plan.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/ranks/remote_writes_of_plan.hpp"

#include <utility>

namespace tessera {

TESSERA_INLINE void remote_writes_of_plan::bundle::post(std::uint64_t finished, const run_state& state) const {
    for (const remote_write& l : writes) {
        const bool is_counted = l.then != remote_write::signal::flag || run == nullptr;
        group->post(l, is_counted ? finished : run->load(std::memory_order_relaxed), state.report);
    }
}

TESSERA_INLINE void remote_writes_of_plan::write(const plan& p, const addresses& where, const node_traffic& traffic,
                                                 process_group& group) {
    group.withdraw();
    group_ = &group;
    after_.assign(p.tasks.size(), {});
    arrivals_of_.assign(p.tasks.size(), {});
    before_.clear();
    arrivals_ = 0;
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        const task& t = p.tasks[i];
        for (const node_traffic::message& m : traffic.after[i]) {
            const std::size_t flag = m.reader >= 0 ? arrivals_++ : 0; // counted alike everywhere
            if (m.reader >= 0) {
                arrivals_of_[to_size(m.reader)].push_back(flag);
            }
            if (!group.owns(t.device)) {
                continue;
            }
            add(p, where, m, after_[i]);
            remote_write& last = after_[i].writes.back();
            if (m.reader >= 0) {
                last.then = remote_write::signal::flag;
                last.flag.offset = flag; // the place follows in signal()
            } else {
                says_done(p, static_cast<int>(i), last);
            }
        }
    }
    for (int d = 0; d < p.devices; ++d) {
        for (const node_traffic::message& m : traffic.before[to_size(d)]) {
            if (group.owns(d)) {
                bundle one;
                add(p, where, m, one);
                before_.insert(before_.end(), one.writes.begin(), one.writes.end());
            }
        }
    }
    for (bundle& b : after_) {
        b.group = &group;
    }
}

TESSERA_INLINE void remote_writes_of_plan::tell_all(const plan& p, const std::vector<wait_for>& points) {
    for (const wait_for& w : points) {
        const int i = p.order[to_size(w.list)][to_size(w.count - 1)];
        for (int node = 0; node < group_->nodes(); ++node) {
            tell(p, i, node);
        }
    }
}

TESSERA_INLINE void remote_writes_of_plan::signal(const std::vector<int>& items, shared_place done,
                                                  shared_place arrivals, const std::atomic<std::uint64_t>& run) {
    for (bundle& b : after_) {
        for (remote_write& l : b.writes) {
            if (l.then == remote_write::signal::flag && l.flag.piece == 0) {
                l.flag = {arrivals.piece, arrivals.offset + l.flag.offset * sizeof(std::uint64_t)};
                b.run = &run;
            }
        }
    }
    for (std::size_t k = 0; k < items.size(); ++k) {
        bundle& b = after_[to_size(items[k])];
        b.run = nullptr;
        for (remote_write& l : b.writes) {
            if (l.then == remote_write::signal::list) {
                l.then = remote_write::signal::flag;
                l.flag = {done.piece, done.offset + k * sizeof(std::uint64_t)};
            }
        }
    }
}

TESSERA_INLINE const remote_writes_of_plan::bundle* remote_writes_of_plan::after(int task) const {
    const auto i = to_size(task);
    return i < after_.size() && !after_[i].writes.empty() ? &after_[i] : nullptr;
}

TESSERA_INLINE void remote_writes_of_plan::post_before() const {
    for (const remote_write& l : before_) {
        group_->post(l, 0, nullptr);
    }
}

TESSERA_INLINE void remote_writes_of_plan::add(const plan& p, const addresses& where, const node_traffic::message& m,
                                               bundle& to) const {
    remote_write l;
    l.node = m.node;
    l.priority = m.priority;
    index_t bytes = 0;
    for (const tile_elements& x : m.parts) {
        const tile& t = p.tiles[to_size(x.tile)];
        const std::byte* const base = where[x.tile];
        const shared_place at = group_->place_of(base);
        const index_t each = bytes_of(t.type);
        for (const interval& e : x.elements) {
            for (index_t begin = e.begin * each; begin < e.end * each;) {
                if (bytes == remote_write::longest) {
                    to.writes.push_back(l);
                    l.rows.clear();
                    bytes = 0;
                }
                const index_t room = remote_write::longest - bytes;
                const index_t end = e.end * each - begin < room ? e.end * each : begin + room;
                l.add(base, at, begin, end);
                bytes += end - begin;
                begin = end;
            }
        }
    }
    to.writes.push_back(std::move(l));
}

TESSERA_INLINE void remote_writes_of_plan::says_done(const plan& p, int task, remote_write& l) {
    l.then = remote_write::signal::list; // of a queue's task until signal()
    l.list = p.list_of(p.tasks[to_size(task)]);
}

TESSERA_INLINE void remote_writes_of_plan::tell(const plan& p, int i, int node) {
    if (!group_->owns(p.tasks[to_size(i)].device) || node == group_->node()) {
        return;
    }
    std::vector<remote_write>& all = after_[to_size(i)].writes;
    for (const remote_write& l : all) {
        if (l.node == node && l.then == remote_write::signal::list) {
            return;
        }
    }
    remote_write l;
    l.node = node;
    says_done(p, i, l);
    all.push_back(l);
}

} // namespace tessera

#include "tessera/base/end_header.inl"
