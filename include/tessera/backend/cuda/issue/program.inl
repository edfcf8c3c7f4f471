// SPDX-License-Identifier: Apache-2.0
// Bodies of program.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/issue/program.hpp"

#include <utility>

namespace tessera::cuda {

TESSERA_INLINE program::program(call_list list, const addresses& where, program_setting setting,
                                const std::vector<device_tools>& tools, communicator_table& communicators)
    : list_(std::move(list)), where_(&where), setting_(std::move(setting)), streams_(setting_.streams), tools_(tools),
      communicators_(communicators), prepared_(list_.calls.size()), events_(list_.calls.size()),
      issued_(list_.calls.size()), tasks_(list_.first.size() - 1) {
    for (std::size_t i = 0; i < list_.calls.size(); ++i) {
        const call& c = list_.calls[i];
        if (!owns(c)) {
            continue;
        }
        if (c.records) {
            const current_gpu current(gpu_of(c));
            events_[i] = make_event();
        }
        for (const call_wait& w : c.waits) {
            if (!owns(list_.calls[to_size(w.call)])) {
                throw error("tessera: call " + std::to_string(i) + " of a plan waits for an event on " +
                            setting_.numbers.name(list_.streams[to_size(list_.calls[to_size(w.call)].stream)].gpu) +
                            ", of another rank; nothing in Tessera makes such a list");
            }
        }
    }
    for (const std::vector<int>& gpus : list_.communicators) {
        members_.push_back(list_.communicates() ? &communicators.get(gpus) : nullptr);
    }
}

TESSERA_INLINE runnable program::prepare(int task, int device) {
    for (int i = list_.first[to_size(task)]; i < list_.first[to_size(task) + 1]; ++i) {
        if (list_.calls[to_size(i)].group >= 0 || !owns(list_.calls[to_size(i)])) {
            continue;
        }
        const current_gpu current(gpu_of(list_.calls[to_size(i)]));
        device_tools tools = tools_[to_size(device)];
        tools.stream = streams_[to_size(list_.calls[to_size(i)].stream)];
        prepared_[to_size(i)] = prepare_call(list_.calls[to_size(i)], *where_, tools);
    }
    tasks_[to_size(task)] = {this, task, device};
    return {[](void* context, const run_state& run) {
                const auto& t = *static_cast<const task_place*>(context);
                t.owner->issue_task(t, run);
            },
            &tasks_[to_size(task)]};
}

TESSERA_INLINE bool program::can_capture() const {
    return !setting_.checks && !list_.communicates() && list_.communicators[0].size() == 1 &&
           setting_.numbers.owns(list_.communicators[0][0]) && whole_runs_ > 0;
}

TESSERA_INLINE void program::replay(const run_state& run) {
    for (const auto& c : prepared_) {
        c->stage(run, streams_[0]);
    }
    if (graph_run_.get() == nullptr) {
        capture(run);
    }
    check(cudaGraphLaunch(graph_run_.get(), streams_[0]), "cudaGraphLaunch");
    replays_ = true;
}

TESSERA_INLINE std::vector<double> program::time_calls(const run_state& run, int repeats) {
    std::vector<double> times(list_.calls.size(), -1);
    for (std::size_t i = 0; i < list_.calls.size(); ++i) {
        if (list_.calls[i].group >= 0 || !owns(list_.calls[i])) {
            continue;
        }
        const current_gpu current(gpu_of(list_.calls[i]));
        const event_handle before = make_timer();
        const event_handle after = make_timer();
        cudaStream_t stream = streams_[to_size(list_.calls[i].stream)];
        prepared_[i]->issue(run);
        check(cudaEventRecord(before.get(), stream), "cudaEventRecord");
        for (int k = 0; k < repeats; ++k) {
            prepared_[i]->issue(run);
        }
        check(cudaEventRecord(after.get(), stream), "cudaEventRecord");
        check(cudaEventSynchronize(after.get()), "cudaEventSynchronize");
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, before.get(), after.get()), "cudaEventElapsedTime");
        times[i] = static_cast<double>(milliseconds) / repeats;
    }
    return times;
}

TESSERA_INLINE void program::begin(int first, int last) {
    whole_runs_ += first == 0 && last == static_cast<int>(tasks_.size()) && run_ > 0 ? 1 : 0;
    ++run_;
    first_task_ = first;
    replays_ = false;
    failed_.store(false);
    next_group_.store(list_.first_group[to_size(first)], std::memory_order_relaxed);
}

TESSERA_INLINE void program::issue_task(const task_place& t, const run_state& run) {
    if (replays_) {
        return;
    }
    try {
        const int end = list_.first[to_size(t.task) + 1];
        std::optional<current_gpu> current;
        if (tools_[to_size(t.device)].gpu >= 0) { // else the task is another process's, and groups have members here
            current.emplace(tools_[to_size(t.device)].gpu);
        }
        for (int i = list_.first[to_size(t.task)]; i < end;) {
            const int group = list_.calls[to_size(i)].group;
            if (group < 0 && !owns(list_.calls[to_size(i)])) {
                ++i;
                continue;
            }
            if (group < 0) {
                guarded(i, [&] {
                    wait_for_others(i);
                    prepared_[to_size(i)]->issue(run);
                    wait_if_checking(i);
                });
                record(i++);
                continue;
            }
            int last = i + 1;
            while (last < end && list_.calls[to_size(last)].group == group) {
                ++last;
            }
            issue_group(i, last, group);
            i = last;
        }
    } catch (...) {
        failed_.store(true); // whoever waits for a call of this task must not wait for ever
        throw;
    }
}

TESSERA_INLINE void program::capture(const run_state& run) {
    const current_gpu current(setting_.numbers.local(list_.streams[0].gpu));
    const event_handle fork = make_event();
    std::vector<event_handle> joins;
    for (std::size_t s = 1; s < streams_.size(); ++s) {
        joins.push_back(make_event());
    }
    stream_capture taken(streams_[0]);
    check(cudaEventRecord(fork.get(), streams_[0]), "cudaEventRecord");
    for (std::size_t s = 1; s < streams_.size(); ++s) {
        check(cudaStreamWaitEvent(streams_[s], fork.get(), 0), "cudaStreamWaitEvent");
    }
    for (int i = 0; i < static_cast<int>(list_.calls.size()); ++i) {
        guarded(i, [&] {
            wait_for_others(i);
            prepared_[to_size(i)]->record(run);
        });
        record(i);
    }
    for (std::size_t s = 1; s < streams_.size(); ++s) {
        check(cudaEventRecord(joins[s - 1].get(), streams_[s]), "cudaEventRecord");
        check(cudaStreamWaitEvent(streams_[0], joins[s - 1].get(), 0), "cudaStreamWaitEvent");
    }
    graph_ = taken.end();
    cudaGraphExec_t runnable_graph = nullptr;
    check(cudaGraphInstantiate(&runnable_graph, graph_.get(), 0), "cudaGraphInstantiate");
    graph_run_ = graph_run_handle(runnable_graph);
}

TESSERA_INLINE void program::wait_if_checking(int i) {
    if (setting_.checks) {
        communicators_.wait(streams_[to_size(list_.calls[to_size(i)].stream)]);
    }
}

TESSERA_INLINE void program::wait_for_others(int i) {
    const call& c = list_.calls[to_size(i)];
    for (const call_wait& w : c.waits) {
        if (w.spins && list_.calls[to_size(w.call)].task >= first_task_) { // an earlier run's are done
            spin([&] { return issued_[to_size(w.call)].load(std::memory_order_acquire) == run_; });
        }
        check(cudaStreamWaitEvent(streams_[to_size(c.stream)], events_[to_size(w.call)].get(), 0),
              "cudaStreamWaitEvent");
    }
}

TESSERA_INLINE void program::record(int i) {
    const call& c = list_.calls[to_size(i)];
    if (c.records) {
        check(cudaEventRecord(events_[to_size(i)].get(), streams_[to_size(c.stream)]), "cudaEventRecord");
        issued_[to_size(i)].store(run_, std::memory_order_release);
    }
}

TESSERA_INLINE void program::issue_group(int first, int last, int group) {
    spin([&] { return next_group_.load(std::memory_order_acquire) == group; });
    std::vector<int>& own = own_of_group_; // of one thread at a time
    own.clear();
    for (int i = first; i < last; ++i) {
        if (owns(list_.calls[to_size(i)])) {
            own.push_back(i);
        }
    }
    if (!own.empty()) {
        issue_members(own);
    }
    next_group_.store(group + 1, std::memory_order_release);
}

TESSERA_INLINE void program::issue_members(const std::vector<int>& own) {
    for (const int i : own) {
        wait_for_others(i);
    }
    nccl_group calls;
    for (const int i : own) {
        guarded(i, [&] { issue_member(list_.calls[to_size(i)]); });
    }
    guarded(own[0], [&] {
        calls.end();
        for (const int i : own) {
            const auto c = to_size(list_.calls[to_size(i)].communicator);
            communicators_.settle(list_.communicators[c], *members_[c]);
        }
    });
    for (const int i : own) {
        const current_gpu current(gpu_of(list_.calls[to_size(i)]));
        guarded(i, [&] { wait_if_checking(i); });
        record(i);
    }
}

TESSERA_INLINE ncclDataType_t program::nccl_type(element e) {
    constexpr ncclDataType_t types[] = {ncclFloat32, ncclFloat64, ncclInt32, ncclBfloat16};
    return types[static_cast<int>(e)];
}

TESSERA_INLINE void program::issue_member(const call& c) {
    ncclComm_t communicator = (*members_[to_size(c.communicator)])[to_size(c.rank)].get();
    cudaStream_t stream = streams_[to_size(c.stream)];
    void* data = (*where_)[c.memory[0].tile] + c.memory[0].offset;
    if (const auto* e = std::get_if<point_to_point>(&c.body)) {
        const ncclDataType_t type = nccl_type(e->type);
        const auto count = to_size(e->count);
        e->sends ? check_begun(ncclSend(data, count, type, e->peer, communicator, stream), "ncclSend")
                 : check_begun(ncclRecv(data, count, type, e->peer, communicator, stream), "ncclRecv");
        return;
    }
    const auto& what = std::get<collective>(c.body);
    const auto count = to_size(what.count);
    void* own = static_cast<float*>(data) + to_size(c.rank) * count;
    switch (what.which) {
    case collective::kind::reduce_scatter:
        check_begun(ncclReduceScatter(data, own, count, ncclFloat32, ncclSum, communicator, stream),
                    "ncclReduceScatter");
        break;
    case collective::kind::all_gather:
        check_begun(ncclAllGather(own, data, count, ncclFloat32, communicator, stream), "ncclAllGather");
        break;
    case collective::kind::all_reduce:
        check_begun(ncclAllReduce(data, c.memory.size() > 1 ? (*where_)[c.memory[1].tile] + c.memory[1].offset : data,
                                  count, nccl_type(what.type), what.how == reducer::max ? ncclMax : ncclSum,
                                  communicator, stream),
                    "ncclAllReduce");
        break;
    case collective::kind::reduce:
        check_begun(ncclReduce(data, data, count, ncclFloat32, ncclSum, what.root, communicator, stream), "ncclReduce");
        break;
    case collective::kind::broadcast:
        check_begun(ncclBroadcast(data, data, count, ncclFloat32, what.root, communicator, stream), "ncclBroadcast");
        break;
    }
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
