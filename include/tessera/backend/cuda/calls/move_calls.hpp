// SPDX-License-Identifier: Apache-2.0
// Copies and sums over micro-batches as calls. Within a GPU a call reads and writes the memory of any device of the
// plan; between GPUs NCCL carries whole tiles and slices.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/backend/cuda/calls/shared_work.hpp"
#include "tessera/backend/cuda/kernels/update.hpp"

namespace tessera::cuda::detail {

/// Where calls of a task that involve other GPUs go.
struct gpu_ranks {
    const std::vector<int>& gpus; ///< of every device
    int (*rank_of)(const std::vector<int>& sorted, int gpu);
    std::vector<int> world; ///< all GPUs, sorted: ranks of the communicator of all

    int gpu(int device) const { return gpus[to_size(device)]; }
    int rank(int device) const { return rank_of(world, gpu(device)); }
};

/// A call on a GPU's NCCL stream, in group `group` of its task.
void add_point_to_point(composer& to, const gpu_ranks& where, bool sends, int own, int peer, memory_use m, element type,
                        int group);

/// Source and target of one array on two GPUs.
void transfer(composer& to, const gpu_ranks& where, memory_use from, int from_device, memory_use target, int to_device,
              element type, int group);

// ---- copies ---------------------------------------------------------------------------------------------------------

/// True where a copy adds whole tiles of f32 or bf16 on one GPU, which one kernel does in one pass.
bool sums_whole_tiles(const composer& c, const gpu_ranks& where);

/// What the caller hands in for a tile of bf16 is of fp32: it goes as it is into scratch memory, and the GPU rounds it.
void compose_upload(composer& to, const copy_segment& s, int target);

void add_collective(composer& to, const gpu_ranks& where, const collective& what, const std::vector<int>& tiles,
                    int group);

/// Every member copies its own part; the last one issues the all-reduce of the copies.
void compose_shared_sum(composer& to, const gpu_ranks& where, const shared_work& work, int number);

void compose_copy(composer& to, const gpu_ranks& where, const shared_work& work, int number);

/// The sum over micro-batches, in the order of what the task reads; the first of that may be what it writes.
void compose_sum(composer& to);

} // namespace tessera::cuda::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/calls/move_calls.inl"
#endif

#include "tessera/base/end_header.inl"
