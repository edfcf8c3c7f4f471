// SPDX-License-Identifier: Apache-2.0
// Bodies of over_nodes.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/over_nodes.hpp"

namespace tessera::simulation::detail {

TESSERA_INLINE writes_on_links::writes_on_links(const plan& p, const node_links& links)
    : p_(p), links_(links), of_task_(p.tasks.size()), ways_(to_size(links.nodes)) {
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        for (const node_traffic::message& m : links.traffic->after[i]) {
            of_task_[i].push_back({m.node, m.reader, links.in_order ? -1 : m.priority,
                                   node_traffic::bytes_of_parts(p, m) + links.header_bytes, -1});
        }
    }
}

TESSERA_INLINE void writes_on_links::post(int task, index_t now) {
    way& mine = ways_[to_size(node_of(p_.tasks[to_size(task)]))];
    for (sent& s : of_task_[to_size(task)]) {
        auto place = mine.waiting.end();
        while (place != mine.waiting.begin() && (*(place - 1))->priority > s.priority) {
            --place;
        }
        mine.waiting.insert(place, &s);
    }
    start(mine, now);
}

TESSERA_INLINE index_t writes_on_links::next(index_t now) const {
    index_t first = -1;
    for (const way& w : ways_) {
        if (w.going != nullptr) {
            first = first < 0 || w.free < first ? w.free : first;
        }
    }
    for (const index_t come : coming_) {
        first = come > now && (first < 0 || come < first) ? come : first;
    }
    return first;
}

TESSERA_INLINE void writes_on_links::pass(index_t now) {
    for (way& w : ways_) {
        if (w.going != nullptr && w.free <= now) {
            w.going->come = w.free + links_.latency;
            coming_.push_back(w.going->come);
            last_ = std::max(last_, w.going->come);
            w.going = nullptr;
            start(w, now);
        }
    }
    coming_.erase(std::remove_if(coming_.begin(), coming_.end(), [&](index_t c) { return c <= now; }), coming_.end());
}

TESSERA_INLINE index_t writes_on_links::known(int task, int reader, index_t end, index_t now) const {
    const int node = node_of(p_.tasks[to_size(reader)]);
    if (node_of(p_.tasks[to_size(task)]) == node) {
        return end;
    }
    index_t when = end;
    for (const sent& s : of_task_[to_size(task)]) {
        if (s.node == node && (s.reader < 0 || s.reader == reader)) {
            if (s.come < 0 || s.come > now) {
                return -1;
            }
            when = std::max(when, s.come);
        }
    }
    return when;
}

TESSERA_INLINE index_t writes_on_links::load() const {
    double rates = 0;
    for (const way& w : ways_) {
        rates += w.going != nullptr ? links_.bytes_per_second : 0;
    }
    return static_cast<index_t>(1024 * rates * links_.core_seconds_per_byte);
}

TESSERA_INLINE void writes_on_links::start(way& w, index_t now) {
    if (w.going != nullptr || w.waiting.empty()) {
        return;
    }
    w.going = w.waiting.front();
    w.waiting.erase(w.waiting.begin());
    const double wire =
        links_.bytes_per_second > 0 ? static_cast<double>(w.going->bytes) / links_.bytes_per_second * 1e9 : 0;
    w.free = now + std::max<index_t>(1, static_cast<index_t>(wire));
}

} // namespace tessera::simulation::detail

#include "tessera/base/end_header.inl"
