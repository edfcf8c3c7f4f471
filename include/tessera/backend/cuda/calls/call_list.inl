// SPDX-License-Identifier: Apache-2.0
// Bodies of call_list.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/call_list.hpp"

#include <utility>

namespace tessera::cuda::detail {

TESSERA_INLINE int rank_in(const std::vector<int>& sorted, int gpu) {
    return static_cast<int>(std::lower_bound(sorted.begin(), sorted.end(), gpu) - sorted.begin());
}

TESSERA_INLINE gpu_ranks ranks_of(const list_options& o) {
    gpu_ranks e{o.gpus, rank_in, o.gpus};
    std::sort(e.world.begin(), e.world.end());
    e.world.erase(std::unique(e.world.begin(), e.world.end()), e.world.end());
    return e;
}

TESSERA_INLINE void compose_by_kind(composer& to, int i, const graph_view& g, const gpu_ranks& where,
                                    const optimizer& update, const shared_work& work, algorithm_table& algorithms) {
    switch (to.what().kind()) {
    case task_kind::compute:
        return compose_compute(to, g, algorithms);
    case task_kind::copy:
        return compose_copy(to, where, work, i);
    case task_kind::reduce:
        return compose_reduction(to, where, work, i);
    case task_kind::update:
        return compose_update(to, g, where, update, work, i);
    case task_kind::norm:
        return compose_norm(to, g, update);
    case task_kind::sum:
        return compose_sum(to);
    case task_kind::gather:
        return compose_gather(to, where, work, i);
    case task_kind::average:
        if (to.tile_at(to.what().reads[0]).on_host) {
            return compose_bringing_up(to, where, work, i);
        }
        throw error(
            "tessera: the CUDA backend does not average parameters; sum gradients instead (another synchronization "
            "policy)");
    case task_kind::compress:
    case task_kind::decompress:
        throw error("tessera: the CUDA backend does not compress gradients; run the strategy on the host backend, or "
                    "send whole gradients (another synchronization policy)");
    case task_kind::reorder:
        break;
    }
    throw error("tessera: the CUDA backend keeps all tensors in one memory format; a plan bound to another backend "
                "cannot run on it");
}

TESSERA_INLINE void compose_task(composer& to, int i, const graph_view& g, const gpu_ranks& where,
                                 const optimizer& update, const shared_work& work, algorithm_table& algorithms) {
    compose_by_kind(to, i, g, where, update, work, algorithms);
    for (const call& c : to.calls()) {
        const index_t elements = std::visit(largest_array(), c.body);
        if (elements > std::numeric_limits<int>::max()) {
            const task& t = to.what();
            throw error("tessera: " + path_of(g, t.op) + ", " + to_text(t.what) + " of shard " +
                        std::to_string(t.shard_number) + ", works on an array of " + std::to_string(elements) +
                        " elements, and cuDNN takes less than 2^31; split the operator more, or use smaller batches or "
                        "micro-batches");
        }
    }
}

TESSERA_INLINE call_list list_maker::run() {
    if (static_cast<int>(o_.gpus.size()) < p_.devices) {
        throw error("tessera: the plan has " + std::to_string(p_.devices) + " devices and only " +
                    std::to_string(o_.gpus.size()) + " are placed on GPUs");
    }
    list_.gpus = o_.gpus;
    for (int d = 0; d < p_.devices; ++d) {
        list_.streams.push_back({d, where_.gpu(d)});
    }
    for (const task& t : p_.tasks) {
        if (t.side_stream && list_.stream_of(t.device, true) < 0) {
            list_.streams.push_back({t.device, where_.gpu(t.device), true});
        }
    }
    list_.communicators.push_back(where_.world);
    const std::vector<shared_work> shared = find_shared_work(p_, o_.gpus);
    for (int i = 0; i < static_cast<int>(p_.tasks.size()); ++i) {
        list_.first.push_back(static_cast<int>(list_.calls.size()));
        list_.first_group.push_back(groups_);
        composer c(p_, p_.tasks[to_size(i)], o_.fuse);
        compose_task(c, i, g_, where_, o_.update, shared[to_size(i)], algorithms_);
        append(c, i);
    }
    list_.first.push_back(static_cast<int>(list_.calls.size()));
    list_.first_group.push_back(groups_);
    call_scheduler(list_, p_).run();
    return std::move(list_);
}

TESSERA_INLINE void list_maker::append(composer& c, int number) {
    std::vector<call>& calls = c.calls();
    for (std::size_t i = 0; i < calls.size(); ++i) {
        call& x = calls[i];
        x.task = number;
        if (x.group < 0) {
            x.stream = list_.stream_of(c.what().device, c.what().side_stream);
        }
    }
    for (std::size_t i = 0; i < calls.size();) {
        std::size_t end = i + 1;
        while (calls[i].group >= 0 && end < calls.size() && calls[end].group == calls[i].group) {
            ++end;
        }
        if (calls[i].group >= 0) {
            number_group(calls, i, end);
        }
        i = end;
    }
    for (call& x : calls) {
        list_.calls.push_back(std::move(x));
    }
}

TESSERA_INLINE void list_maker::number_group(std::vector<call>& calls, std::size_t begin, std::size_t end) {
    std::vector<int> members; // GPUs by rank
    for (std::size_t i = begin; i < end; ++i) {
        const auto rank = to_size(calls[i].rank);
        members.resize(std::max(members.size(), rank + 1), -1);
        members[rank] = -1 - calls[i].stream;
    }
    sort_ranks(calls, begin, end, members);
    for (std::size_t i = begin; i < end; ++i) {
        calls[i].stream = nccl_stream_of(-1 - calls[i].stream);
        calls[i].group = groups_;
        calls[i].communicator = calls[i].communicator == 0 ? 0 : communicator_of(members);
    }
    ++groups_;
}

TESSERA_INLINE void list_maker::sort_ranks(std::vector<call>& calls, std::size_t begin, std::size_t end,
                                           std::vector<int>& members) {
    using kind = collective::kind;
    for (std::size_t i = begin; i < end; ++i) {
        const auto* what = std::get_if<collective>(&calls[i].body);
        if (what == nullptr || what->which == kind::reduce_scatter || what->which == kind::all_gather) {
            return;
        }
    }
    std::vector<int> sorted = members;
    std::sort(sorted.begin(), sorted.end());
    const auto rank = [&](int old) { return rank_in(sorted, members[to_size(old)]); };
    for (std::size_t i = begin; i < end; ++i) {
        calls[i].rank = rank(calls[i].rank);
        auto& what = std::get<collective>(calls[i].body);
        const bool rooted = what.which == kind::reduce || what.which == kind::broadcast;
        what.root = rooted ? rank(what.root) : what.root;
    }
    members = sorted;
}

TESSERA_INLINE int list_maker::nccl_stream_of(int gpu) {
    const int found = list_.nccl_stream_of(gpu);
    if (found >= 0) {
        return found;
    }
    list_.streams.push_back({-1, gpu});
    return static_cast<int>(list_.streams.size()) - 1;
}

TESSERA_INLINE int list_maker::communicator_of(const std::vector<int>& gpus) {
    for (std::size_t i = 0; i < list_.communicators.size(); ++i) {
        if (list_.communicators[i] == gpus) {
            return static_cast<int>(i);
        }
    }
    list_.communicators.push_back(gpus);
    return static_cast<int>(list_.communicators.size()) - 1;
}

} // namespace tessera::cuda::detail

namespace tessera::cuda {

TESSERA_INLINE call_list make_call_list(const plan& p, const graph_view& g, const list_options& o,
                                        algorithm_table& algorithms) {
    return detail::list_maker(p, g, o, algorithms).run();
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
