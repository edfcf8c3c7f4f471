// SPDX-License-Identifier: Apache-2.0
// The links between nodes as a simulation sees them: what a task has written goes, one remote write after the other and
// the most urgent first, over the link of its node.
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
    index_t header_bytes = 0;         ///< of a remote write besides what it carries
    double core_seconds_per_byte = 0; ///< seconds of a core that a byte takes, on both sides together
    bool in_order = false;            ///< remote writes go as they come, whatever their priority
};

namespace detail {

/// Remote writes that wait, that are on their way and that have come.
class writes_on_links {
public:
    writes_on_links(const plan& p, const node_links& links);

    /// A task has ended.
    void post(int task, index_t now);
    /// When the next remote write has left or come; -1: there is none.
    index_t next(index_t now) const;
    void pass(index_t now);
    /// When a task's end is known where another of the plan is to run, with what this one reads of it; `end` is when it
    /// ended; -1: not yet.
    index_t known(int task, int reader, index_t end, index_t now) const;
    /// Cores that the remote writes on their way take, in 1/1024.
    index_t load() const;
    /// When the last remote write has come.
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

    int node_of(const task& t) const { return links_.node_of[to_size(t.device)]; }
    void start(way& w, index_t now);

    const plan& p_;
    const node_links& links_;
    std::vector<std::vector<sent>> of_task_;
    std::vector<way> ways_; ///< by node
    std::vector<index_t> coming_;
    index_t last_ = 0;
};

} // namespace detail

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/over_nodes.inl"
#endif

#include "tessera/base/end_header.inl"
