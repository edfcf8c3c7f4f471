// SPDX-License-Identifier: Apache-2.0
// Numbers of GPUs. In one process they are the runtime's. In a group of processes, each of which has a GPU number 0,
// rank r's GPU g is number r * most + g, where no process sees more than `most`.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/issue/error.hpp"
#include "tessera/execute/processes.hpp"

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
    std::string name(int gpu) const {
        return "GPU " + std::to_string(local(gpu)) +
               (group == nullptr ? std::string() : " of rank " + std::to_string(rank_of(gpu)));
    }
};

/// The GPUs of all devices of a group, and how they are numbered.
struct group_placement {
    gpu_numbers numbers;
    std::vector<int> gpus; ///< by device
};

namespace detail {

/// Of a GPU what tells it from all others, of every machine, in 52 bits, which a double holds. NCCL_HOSTID names a node:
/// of ranks that name different ones NCCL connects those on one GPU too.
inline double identity_of(int gpu) {
    cudaDeviceProp p{};
    check(cudaGetDeviceProperties(&p, gpu), "cudaGetDeviceProperties");
    const char* const node = std::getenv("NCCL_HOSTID");
    std::uint64_t hash = 14695981039346656037U; // FNV-1a
    for (const char c : std::string(p.uuid.bytes, sizeof p.uuid.bytes) + (node != nullptr ? node : "")) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    }
    return static_cast<double>(hash >> 12U);
}

/// Devices of this process that have no GPU said: the processes of a node take its GPUs one after the other, as far as
/// each sees them.
inline int usual_gpu(const process_group& group, int device, int there) {
    int before = 0; // processes of the node
    for (int r = 0; r < group.rank(); ++r) {
        before += group.is_here(r) ? 1 : 0;
    }
    return (before * group.devices_each() + device - group.first_device()) % there;
}

} // namespace detail

/// Where the devices of all processes are. `own`: GPUs of this process's devices, or none; `there`: GPUs that it sees.
/// All processes call it. Throws tessera::error, in all of them, where one has not as many GPUs in `own` as devices, or
/// two have the same GPU, which NCCL does not connect.
inline group_placement place_group(process_group& group, const std::vector<int>& own, int there) {
    const int each = group.devices_each();
    const auto devices = static_cast<std::size_t>(group.devices());
    std::vector<double> seen(2 + 2 * devices, -1);
    const bool fits = own.empty() || static_cast<int>(own.size()) == each;
    seen[0] = there;
    seen[1] = fits ? -1 : group.rank();
    for (int i = 0; i < each && fits; ++i) {
        const int d = group.first_device() + i;
        const int gpu = own.empty() ? detail::usual_gpu(group, d, there) : own[static_cast<std::size_t>(i)];
        seen[2 + static_cast<std::size_t>(d)] = gpu;
        seen[2 + devices + static_cast<std::size_t>(d)] = detail::identity_of(gpu);
    }
    group.agree_on_most(seen);
    if (seen[1] >= 0) {
        throw error("tessera: backend_options::gpus of rank " + std::to_string(static_cast<int>(seen[1])) +
                    " does not name a GPU for each of its devices, of which a rank has " + std::to_string(each) +
                    "; over ranks it has those of the rank's own devices, as the rank counts them");
    }
    group_placement p{{&group, static_cast<int>(seen[0])}, {}};
    for (std::size_t d = 0; d < devices; ++d) {
        p.gpus.push_back(group.owner(static_cast<int>(d)) * p.numbers.most + static_cast<int>(seen[2 + d]));
        for (std::size_t other = 0; other < d; ++other) {
            if (seen[2 + devices + d] == seen[2 + devices + other] && p.gpus[d] != p.gpus[other]) {
                throw error("tessera: " + group.name_of(group.owner(static_cast<int>(other))) + " and " +
                            group.name_of(group.owner(static_cast<int>(d))) + " have one GPU for devices " +
                            std::to_string(other) + " and " + std::to_string(d) +
                            ", and NCCL connects processes on GPUs of their own; start fewer ranks, or say which GPU "
                            "each takes (backend_options::gpus, or CUDA_VISIBLE_DEVICES)");
            }
        }
    }
    return p;
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
