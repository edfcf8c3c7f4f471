// SPDX-License-Identifier: Apache-2.0
// Bodies of schedule_calls.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/schedule_calls.hpp"

namespace tessera::cuda::detail {

TESSERA_INLINE call_scheduler::call_scheduler(call_list& list, const plan& p)
    : l_(list), p_(p), streams_(list.streams.size()), history_(to_size(p.devices * arenas_of_device)),
      last_(streams_, -1), issued_(streams_, 0) {
    order_tasks();
}

TESSERA_INLINE void call_scheduler::run() {
    const std::size_t n = l_.calls.size();
    start_.assign(n * streams_, 0);
    end_.assign(n * streams_, 0);
    position_.assign(n, 0);
    for (std::size_t i = 0; i < n;) {
        std::size_t end = i + 1;
        while (l_.calls[i].group >= 0 && end < n && l_.calls[end].group == l_.calls[i].group) {
            ++end;
        }
        step(i, end);
        i = end;
    }
}

TESSERA_INLINE void call_scheduler::join(int* into, const int* other) const {
    for (std::size_t k = 0; k < streams_; ++k) {
        into[k] = std::max(into[k], other[k]);
    }
}

TESSERA_INLINE void call_scheduler::step(std::size_t first, std::size_t last) {
    for (std::size_t c = first; c < last; ++c) {
        const std::size_t stream = to_size(l_.calls[c].stream);
        if (last_[stream] >= 0) {
            join(start_of(c), end_of(to_size(last_[stream])));
        }
        start_of(c)[stream] = issued_[stream];
        for (const memory_use& m : l_.calls[c].memory) {
            require_past(c, m);
        }
        position_[c] = issued_[stream]++;
    }
    for (std::size_t c = first; c < last; ++c) {
        for (std::size_t other = first; other < last; ++other) {
            join(end_of(c), start_of(other));
        }
        const std::size_t stream = to_size(l_.calls[c].stream);
        end_of(c)[stream] = std::max(end_of(c)[stream], position_[c]);
    }
    for (std::size_t c = first; c < last; ++c) {
        last_[to_size(l_.calls[c].stream)] = static_cast<int>(c);
        for (const memory_use& m : l_.calls[c].memory) {
            remember(c, m);
        }
    }
}

TESSERA_INLINE std::vector<call_scheduler::past_use>& call_scheduler::past_of(const tile& t) {
    return history_[to_size(arena_number(t))];
}

TESSERA_INLINE void call_scheduler::require_past(std::size_t c, const memory_use& m) {
    const tile& t = root_of(m);
    const index_t begin = t.offset + m.offset;
    std::vector<past_use>& past = past_of(t);
    for (std::size_t k = past.size(); k-- > 0;) {
        const past_use& u = past[k];
        if ((u.write || m.write) && u.begin < begin + m.bytes && begin < u.end && u.call != static_cast<int>(c)) {
            require(c, to_size(u.call));
        }
    }
}

TESSERA_INLINE void call_scheduler::require(std::size_t c, std::size_t other) {
    const std::size_t stream = to_size(l_.calls[other].stream);
    if (start_of(c)[stream] > position_[other]) {
        return;
    }
    call& x = l_.calls[c];
    bool merged = false;
    for (call_wait& w : x.waits) { // a later call of the same stream says more
        if (l_.calls[to_size(w.call)].stream == l_.calls[other].stream) {
            w.call = std::max(w.call, static_cast<int>(other));
            w.spins = w.spins || spins(c, other);
            merged = true;
        }
    }
    if (!merged) {
        x.waits.push_back({static_cast<int>(other), spins(c, other)});
    }
    l_.calls[other].records = true;
    join(start_of(c), end_of(other));
    start_of(c)[stream] = std::max(start_of(c)[stream], position_[other] + 1);
}

TESSERA_INLINE void call_scheduler::order_tasks() {
    const auto devices = to_size(p_.devices);
    known_.assign(p_.tasks.size() * devices, 0);
    std::vector<int> last(devices, -1);
    for (std::size_t i = 0; i < p_.tasks.size(); ++i) {
        const task& t = p_.tasks[i];
        int* mine = known_.data() + i * devices;
        const auto join = [&](int other) {
            const task& o = p_.tasks[to_size(other)];
            for (std::size_t d = 0; d < devices; ++d) {
                mine[d] = std::max(mine[d], known_[to_size(other) * devices + d]);
            }
            mine[to_size(o.device)] = std::max(mine[to_size(o.device)], o.position + 1);
        };
        if (last[to_size(t.device)] >= 0) {
            join(last[to_size(t.device)]);
        }
        for (const wait_for& w : t.waits) {
            if (w.count > 0) {
                join(p_.order[to_size(w.list)][to_size(w.count - 1)]);
            }
        }
        last[to_size(t.device)] = static_cast<int>(i);
    }
}

TESSERA_INLINE bool call_scheduler::spins(std::size_t c, std::size_t other) const {
    const task& o = p_.tasks[to_size(l_.calls[other].task)];
    const std::size_t mine = to_size(l_.calls[c].task) * to_size(p_.devices);
    return l_.calls[c].task != l_.calls[other].task && known_[mine + to_size(o.device)] <= o.position;
}

TESSERA_INLINE void call_scheduler::remember(std::size_t c, const memory_use& m) {
    const tile& t = root_of(m);
    const past_use now{static_cast<int>(c), t.offset + m.offset, t.offset + m.offset + m.bytes, m.write};
    std::vector<past_use>& past = past_of(t);
    if (m.write) { // whoever conflicts with what is covered conflicts with this call too
        std::erase_if(past, [&](const past_use& u) { return u.begin >= now.begin && u.end <= now.end; });
    }
    past.push_back(now);
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
