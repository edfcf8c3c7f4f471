// SPDX-License-Identifier: Apache-2.0
// Numbers of GPUs. In one process they are the runtime's. In a group of processes, each of which has a GPU number 0,
// rank r's GPU g is number r * most + g, where no process sees more than `most`.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/issue/error.hpp"
#include "tessera/execute/ranks/processes.hpp"

#include <cstdlib>
#include <string>
#include <vector>

namespace tessera::cuda {

/// Whose a GPU is, by its number.
struct gpu_numbers {
    process_group* group = nullptr; ///< null: this process is alone
    int most = 0;

    int rank_of(int gpu) const { return group == nullptr ? 0 : gpu / most; }
    bool owns(int gpu) const { return group == nullptr || rank_of(gpu) == group->rank(); }
    /// As its process counts.
    int local(int gpu) const { return group == nullptr ? gpu : gpu % most; }
    /// "GPU 1", or "GPU 1 of rank 2".
    std::string name(int gpu) const;
};

/// The GPUs of all devices of a group, and how they are numbered.
struct group_placement {
    gpu_numbers numbers;
    std::vector<int> gpus; ///< by device
};

namespace detail {

/// A hash of a GPU's identity that is unique across machines, in 52 bits, which a double holds. NCCL_HOSTID names a
/// node: NCCL also connects ranks on one GPU if they name different nodes.
double identity_of(int gpu);

/// Devices of this process that have no GPU said: the processes of a node take its GPUs one after the other, as far as
/// each sees them.
int usual_gpu(const process_group& group, int device, int there);

} // namespace detail

/// Where the devices of all processes are. `own`: GPUs of this process's devices, or none; `there`: GPUs that it sees.
/// All processes call it. Throws tessera::error, in all of them, where one has not as many GPUs in `own` as devices, or
/// two have the same GPU, which NCCL does not connect.
group_placement place_group(process_group& group, const std::vector<int>& own, int there);

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/issue/gpu_numbers.inl"
#endif

#include "tessera/base/end_header.inl"
