// SPDX-License-Identifier: Apache-2.0
// Binding a plan to GPUs: algorithms and scratch memory for every task, and, between GPUs, transfers of whole tiles:
// what a copy needs of another GPU is packed there, carried over, and then copied like anything else.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/call_list.hpp"
#include "tessera/backend/cuda/calls/contain.hpp"
#include "tessera/backend/cuda/calls/merge.hpp"
#include "tessera/backend/cuda/calls/nonfinite_counts.hpp"
#include "tessera/plan/scratch.hpp"
#include "tessera/plan/streams.hpp"

namespace tessera::cuda {

namespace detail {

class binder {
public:
    binder(plan& p, const graph_view& g, const list_options& o, algorithm_table& algorithms)
        : p_(p), g_(g), o_(o), algorithms_(algorithms), where_(ranks_of(o_)) {}

    void run();

private:
    bool is_far(int source, int device) const;

    /// Copies on several GPUs that add up the same parts, one from each of them, come one after the other: an
    /// all-reduce does them. To bring the later ones forward is safe: what they read is there, and nobody else writes
    /// what they write.
    bool place_shared_sum(std::vector<task>& old, std::size_t first, std::vector<char>& placed);

    /// A tile for a part of another one, on a device.
    int add_part(int source, const box& region, int device);

    void add_copy(const task& like, int device, int source, int target);

    void bring_sources(task& t);

    static bool is_update(const task& t) { return t.kind() == task_kind::update; }

    /// Squared norms on other GPUs: one copy of each on every device that needs it.
    void bring_norms(task& t, std::vector<int>& norms);

    void bind_scratch();

    struct brought {
        int source;
        int device;
        int tile_number;
    };

    plan& p_;
    const graph_view g_;
    list_options o_;
    algorithm_table& algorithms_;
    gpu_ranks where_;
    std::vector<brought> norms_;
};

} // namespace detail

/// Binds a logical plan. Calls are queued from one thread for each device, in the plan's order, to its streams: what
/// communicates has one of its own (issue_from_one_list()), and NCCL's calls have one of the GPU's. Afterwards finish()
/// places its memory and make_call_list() makes its calls.
void bind(plan& p, const graph_view& g, const list_options& o, algorithm_table& algorithms);

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/bind.inl"
#endif

#include "tessera/base/end_header.inl"
