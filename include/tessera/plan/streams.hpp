// SPDX-License-Identifier: Apache-2.0
// Communication streams: what moves between devices leaves the computation's list, so that it runs beside it.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/plan.hpp"

namespace tessera {

/// True for a copy, a gathering, a reduction or an update that reads or writes another device's memory, and for all
/// tasks of a message.
bool is_communication(const std::vector<tile>& all, const task& t);
inline bool is_communication(const plan& p, const task& t) { return is_communication(p.tiles, t); }

/// What a GPU does on a stream beside its computation: what is_communication() names, and whatever else sums, updates
/// or gathers parameters, since it may wait for such a task. The GPU's one engine does the work of both streams.
bool runs_on_side_stream(const std::vector<tile>& all, const task& t);

/// Gives every device a communication stream and puts the tasks on it that is_communication() names. They keep their
/// places in the plan's order, which is the order in which the stream takes them. To be called before the plan is
/// bound, or before finish().
void use_communication_streams(plan& p);

/// Puts what has a priority into its device's queue, if anything has. To be called before the plan is bound, or before
/// finish().
void use_queues(plan& p);

/// Threads of every device that take its lists: queues have their own.
int threads_of_streams(const plan& p);

/// Puts everything into the devices' first lists, for GPUs: one thread issues a list, to two streams, so that no
/// computation waits for what runs_on_side_stream() names. Where devices do not communicate one stream does.
void issue_from_one_list(plan& p);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/plan/streams.inl"
#endif

#include "tessera/base/end_header.inl"
