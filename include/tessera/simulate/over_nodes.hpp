// SPDX-License-Identifier: Apache-2.0
// The links between nodes as a simulation sees them: what a task has written goes, one letter after the other and the most urgent first, over the link of its
// node.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/between_nodes.hpp"

#include <algorithm>
#include <vector>

namespace tessera::simulation {

/// A plan's nodes and what joins them. Every node has one way out, for all other nodes.
struct node_links {
    const node_traffic* traffic = nullptr; ///< of the plan, whose waits it has set
    std::vector<int> node_of;              ///< of every device
    int nodes = 1;
    double bytes_per_second = 0;      ///< 0: no limit
    index_t latency = 0;              ///< ns until what has left a node has come
    index_t letter_bytes = 0;         ///< of a letter besides what it carries
    double core_seconds_per_byte = 0; ///< seconds of a core that a byte takes, on both sides together
    bool in_turn = false;             ///< letters go as they come, whatever their priority
};

namespace detail {

/// Letters that wait, that are on their way and that have come.
class letters_on_links {
public:
    letters_on_links(const plan& p, const node_links& links)
        : p_(p), links_(links), of_task_(p.tasks.size()), ways_(static_cast<std::size_t>(links.nodes)) {
        for (std::size_t i = 0; i < p.tasks.size(); ++i) {
            for (const node_traffic::message& m : links.traffic->after[i]) {
                of_task_[i].push_back({m.node, m.reader, links.in_turn ? -1 : m.priority,
                                       node_traffic::bytes_of_parts(p, m) + links.letter_bytes, -1});
            }
        }
    }

    /// A task has ended.
    void post(int task, index_t now) {
        way& mine = ways_[static_cast<std::size_t>(node_of(p_.tasks[static_cast<std::size_t>(task)]))];
        for (sent& s : of_task_[static_cast<std::size_t>(task)]) {
            auto place = mine.waiting.end();
            while (place != mine.waiting.begin() && (*(place - 1))->priority > s.priority) {
                --place;
            }
            mine.waiting.insert(place, &s);
        }
        start(mine, now);
    }
    /// When the next letter has left or come; -1: there is none.
    index_t next(index_t now) const {
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
    void pass(index_t now) {
        for (way& w : ways_) {
            if (w.going != nullptr && w.free <= now) {
                w.going->come = w.free + links_.latency;
                coming_.push_back(w.going->come);
                last_ = std::max(last_, w.going->come);
                w.going = nullptr;
                start(w, now);
            }
        }
        coming_.erase(std::remove_if(coming_.begin(), coming_.end(), [&](index_t c) { return c <= now; }),
                      coming_.end());
    }
    /// When a task's end is known where another of the plan is to run, with what this one reads of it; `end` is when it ended; -1: not yet.
    index_t known(int task, int reader, index_t end, index_t now) const {
        const int node = node_of(p_.tasks[static_cast<std::size_t>(reader)]);
        if (node_of(p_.tasks[static_cast<std::size_t>(task)]) == node) {
            return end;
        }
        index_t when = end;
        for (const sent& s : of_task_[static_cast<std::size_t>(task)]) {
            if (s.node == node && (s.reader < 0 || s.reader == reader)) {
                if (s.come < 0 || s.come > now) {
                    return -1;
                }
                when = std::max(when, s.come);
            }
        }
        return when;
    }
    /// Cores that the letters on their way take, in 1/1024.
    index_t load() const {
        double rates = 0;
        for (const way& w : ways_) {
            rates += w.going != nullptr ? links_.bytes_per_second : 0;
        }
        return static_cast<index_t>(1024 * rates * links_.core_seconds_per_byte);
    }
    /// When the last letter has come.
    index_t last() const { return last_; }

private:
    struct sent {
        int node;
        int reader;
        int priority;
        index_t bytes;
        index_t come; ///< -1: not yet
    };
    struct way {
        std::vector<sent*> waiting;
        sent* going = nullptr;
        index_t free = 0;
    };

    int node_of(const task& t) const { return links_.node_of[static_cast<std::size_t>(t.device)]; }
    void start(way& w, index_t now) {
        if (w.going != nullptr || w.waiting.empty()) {
            return;
        }
        w.going = w.waiting.front();
        w.waiting.erase(w.waiting.begin());
        const double wire =
            links_.bytes_per_second > 0 ? static_cast<double>(w.going->bytes) / links_.bytes_per_second * 1e9 : 0;
        w.free = now + std::max<index_t>(1, static_cast<index_t>(wire));
    }

    const plan& p_;
    const node_links& links_;
    std::vector<std::vector<sent>> of_task_;
    std::vector<way> ways_; ///< by node
    std::vector<index_t> coming_;
    index_t last_ = 0;
};

} // namespace detail

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
