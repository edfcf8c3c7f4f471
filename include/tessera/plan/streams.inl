// SPDX-License-Identifier: Apache-2.0
// Bodies of streams.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/streams.hpp"

namespace tessera {

TESSERA_INLINE bool is_communication(const std::vector<tile>& all, const task& t) {
    if (t.params().message >= 0) {
        return true;
    }
    if (t.kind() != task_kind::copy && t.kind() != task_kind::reduce && t.kind() != task_kind::update &&
        t.kind() != task_kind::norm && t.kind() != task_kind::average) {
        return false;
    }
    for (const std::vector<int>* tiles : {&t.reads, &t.writes}) {
        for (const int i : *tiles) {
            const tile& x = all[to_size(i)];
            if (x.on_host || (x.device >= 0 && x.device != t.device)) {
                return true;
            }
        }
    }
    return false;
}

TESSERA_INLINE bool runs_on_side_stream(const std::vector<tile>& all, const task& t) {
    return t.kind() == task_kind::update || t.kind() == task_kind::reduce || t.kind() == task_kind::gather ||
           t.kind() == task_kind::average || t.kind() == task_kind::norm || t.kind() == task_kind::compress ||
           t.kind() == task_kind::decompress || is_communication(all, t);
}

TESSERA_INLINE void use_communication_streams(plan& p) {
    p.streams = p.streams < 2 ? 2 : p.streams;
    for (task& t : p.tasks) {
        if (is_communication(p, t) && t.priority < 0) {
            t.stream = task_stream::communication;
        }
    }
}

TESSERA_INLINE void use_queues(plan& p) {
    for (task& t : p.tasks) {
        if (t.priority >= 0) {
            p.streams = 3;
            t.stream = task_stream::queue;
        }
    }
}

TESSERA_INLINE int threads_of_streams(const plan& p) {
    for (const task& t : p.tasks) {
        if (t.stream == task_stream::communication) {
            return 2;
        }
    }
    return 1;
}

TESSERA_INLINE void issue_from_one_list(plan& p) {
    p.streams = 1;
    bool communicates = false;
    for (const task& t : p.tasks) {
        communicates = communicates || is_communication(p, t);
    }
    for (task& t : p.tasks) {
        t.stream = task_stream::compute;
        t.priority = -1;
        t.side_stream = communicates && runs_on_side_stream(p.tiles, t);
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
