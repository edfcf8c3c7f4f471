// SPDX-License-Identifier: Apache-2.0
// Bodies of gpu_numbers.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/issue/gpu_numbers.hpp"

namespace tessera::cuda {

TESSERA_INLINE std::string gpu_numbers::name(int gpu) const {
    return "GPU " + std::to_string(local(gpu)) +
           (group == nullptr ? std::string() : " of rank " + std::to_string(rank_of(gpu)));
}

} // namespace tessera::cuda

namespace tessera::cuda::detail {

TESSERA_INLINE double identity_of(int gpu) {
    cudaDeviceProp p{};
    check(cudaGetDeviceProperties(&p, gpu), "cudaGetDeviceProperties");
    const char* const node = std::getenv("NCCL_HOSTID");
    std::uint64_t hash = 14695981039346656037U; // FNV-1a
    for (const char c : std::string(p.uuid.bytes, sizeof p.uuid.bytes) + (node != nullptr ? node : "")) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    }
    return static_cast<double>(hash >> 12U);
}

TESSERA_INLINE int usual_gpu(const process_group& group, int device, int there) {
    int before = 0; // processes of the node
    for (int r = 0; r < group.rank(); ++r) {
        before += group.is_here(r) ? 1 : 0;
    }
    return (before * group.devices_each() + device - group.first_device()) % there;
}

} // namespace tessera::cuda::detail

namespace tessera::cuda {

TESSERA_INLINE group_placement place_group(process_group& group, const std::vector<int>& own, int there) {
    const int each = group.devices_each();
    const auto devices = to_size(group.devices());
    std::vector<double> seen(2 + 2 * devices, -1);
    const bool fits = own.empty() || static_cast<int>(own.size()) == each;
    seen[0] = there;
    seen[1] = fits ? -1 : group.rank();
    for (int i = 0; i < each && fits; ++i) {
        const int d = group.first_device() + i;
        const int gpu = own.empty() ? detail::usual_gpu(group, d, there) : own[to_size(i)];
        seen[2 + to_size(d)] = gpu;
        seen[2 + devices + to_size(d)] = detail::identity_of(gpu);
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
