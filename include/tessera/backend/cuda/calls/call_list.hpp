// SPDX-License-Identifier: Apache-2.0
// From a bound plan to the list of its calls: a pure function, which needs no GPU.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compute_calls.hpp"
#include "tessera/backend/cuda/calls/message_calls.hpp"
#include "tessera/backend/cuda/calls/move_calls.hpp"
#include "tessera/backend/cuda/calls/norm_calls.hpp"
#include "tessera/backend/cuda/calls/schedule_calls.hpp"
#include "tessera/net/paths.hpp"

namespace tessera::cuda {

/// What a list depends on besides its plan.
struct list_options {
    std::vector<int> gpus; ///< of every device of the plan; several devices may share one
    optimizer update;
    bool fuse =
        true; ///< a relu into the convolution or the product before it, a bias' gradient into that of its weight
};

namespace detail {

int rank_in(const std::vector<int>& sorted, int gpu);

gpu_ranks ranks_of(const list_options& o);

void compose_by_kind(composer& to, int i, const graph_view& g, const gpu_ranks& where, const optimizer& update,
                     const shared_work& work, algorithm_table& algorithms);

/// Puts the calls of task `i` into `to`. Throws tessera::error where the backend cannot do it, or an array is larger
/// than cuDNN counts.
void compose_task(composer& to, int i, const graph_view& g, const gpu_ranks& where, const optimizer& update,
                  const shared_work& work, algorithm_table& algorithms);

class list_maker {
public:
    list_maker(const plan& p, const graph_view& g, const list_options& o, algorithm_table& algorithms)
        : p_(p), g_(g), o_(o), algorithms_(algorithms), where_(ranks_of(o_)) {}

    call_list run();

private:
    /// Numbers streams, groups and communicators.
    void append(composer& c, int number);

    void number_group(std::vector<call>& calls, std::size_t begin, std::size_t end);

    /// Ranks in the order of GPUs where no slice goes with a rank, so that any order of the same GPUs is one
    /// communicator.
    static void sort_ranks(std::vector<call>& calls, std::size_t begin, std::size_t end, std::vector<int>& members);

    int nccl_stream_of(int gpu);

    int communicator_of(const std::vector<int>& gpus);

    const plan& p_;
    const graph_view g_;
    list_options o_;
    algorithm_table& algorithms_;
    gpu_ranks where_; ///< refers to o_
    call_list list_;
    int groups_ = 0;
};

} // namespace detail

/// The calls of a finished plan that was bound to the CUDA backend (see bind.hpp) with the same options and algorithms.
call_list make_call_list(const plan& p, const graph_view& g, const list_options& o, algorithm_table& algorithms);

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/calls/call_list.inl"
#endif

#include "tessera/base/end_header.inl"
