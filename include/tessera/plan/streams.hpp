// SPDX-License-Identifier: Apache-2.0
// Communication streams: what moves between devices leaves the computation's list, so that it runs beside it.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/plan.hpp"

namespace tessera {

/// True for a copy, a gathering, a reduction or an update that reads or writes another device's memory, and for all tasks of a message.
inline bool is_communication(const std::vector<tile>& all, const task& t) {
    if (t.message >= 0) {
        return true;
    }
    if (t.kind != task_kind::copy && t.kind != task_kind::reduce && t.kind != task_kind::update &&
        t.kind != task_kind::norm) {
        return false;
    }
    for (const std::vector<int>* tiles : {&t.reads, &t.writes}) {
        for (const int i : *tiles) {
            const int device = all[static_cast<std::size_t>(i)].device;
            if (device >= 0 && device != t.device) {
                return true;
            }
        }
    }
    return false;
}
inline bool is_communication(const plan& p, const task& t) { return is_communication(p.tiles, t); }

/// What a GPU does on a stream beside its computation: what is_communication() names, and whatever else sums, updates or gathers parameters, since it may
/// wait for such a task. The GPU's one engine does the work of both streams.
inline bool is_beside(const std::vector<tile>& all, const task& t) {
    return t.kind == task_kind::update || t.kind == task_kind::reduce || t.kind == task_kind::gather ||
           t.kind == task_kind::average || t.kind == task_kind::norm || t.kind == task_kind::compress ||
           t.kind == task_kind::decompress || is_communication(all, t);
}

/// Gives every device a communication stream and puts the tasks on it that is_communication() names. They keep their places in the plan's order,
/// which is the order in which the stream takes them. To be called before the plan is bound, or before finish().
inline void use_communication_streams(plan& p) {
    p.streams = p.streams < 2 ? 2 : p.streams;
    for (task& t : p.tasks) {
        if (is_communication(p, t) && t.priority < 0) {
            t.stream = task_stream::communication;
        }
    }
}

/// Puts what has a priority into its device's queue, if anything has. To be called before the plan is bound, or before finish().
inline void use_queues(plan& p) {
    for (task& t : p.tasks) {
        if (t.priority >= 0) {
            p.streams = 3;
            t.stream = task_stream::queue;
        }
    }
}

/// Threads of every device that take its lists: queues have their own.
inline int threads_of_streams(const plan& p) {
    for (const task& t : p.tasks) {
        if (t.stream == task_stream::communication) {
            return 2;
        }
    }
    return 1;
}

/// Puts everything into the devices' first lists, for GPUs: one thread issues a list, to two streams, so that no computation waits for what
/// is_beside() names. Where devices do not communicate one stream does.
inline void issue_from_one_list(plan& p) {
    p.streams = 1;
    bool communicates = false;
    for (const task& t : p.tasks) {
        communicates = communicates || is_communication(p, t);
    }
    for (task& t : p.tasks) {
        t.stream = task_stream::compute;
        t.priority = -1;
        t.beside = communicates && is_beside(p.tiles, t);
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
