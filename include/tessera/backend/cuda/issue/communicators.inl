// SPDX-License-Identifier: Apache-2.0
// Bodies of communicators.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/issue/communicators.hpp"

#include <utility>

namespace tessera::cuda {

TESSERA_INLINE communicator_table::~communicator_table() {
    if (numbers_.group != nullptr && numbers_.group->failed()) {
        abort(); // others may be gone, for whom ncclCommDestroy would wait
    }
    while (!groups_.empty()) { // parts before what they were split from
        groups_.pop_back();
    }
}

TESSERA_INLINE const std::vector<communicator_handle>& communicator_table::get(const std::vector<int>& gpus) {
    const group* whole = nullptr;
    for (const auto& g : groups_) {
        if (g->gpus == gpus) {
            return g->members;
        }
        const auto has = [&](int gpu) { return std::find(g->gpus.begin(), g->gpus.end(), gpu) != g->gpus.end(); };
        whole = whole == nullptr && std::all_of(gpus.begin(), gpus.end(), has) ? g.get() : whole;
    }
    require_usable();
    if (same_bits_) {
        forbid_sums_in_switches();
    }
    owned<group> made(new group{gpus, {}});
    if (whole != nullptr) {
        made->members = split(*whole, gpus);
    } else if (numbers_.group != nullptr) {
        made->members = connect(gpus);
    } else {
        std::vector<ncclComm_t> all(gpus.size(), nullptr);
        check(ncclCommInitAll(all.data(), static_cast<int>(gpus.size()), gpus.data()), "ncclCommInitAll");
        for (ncclComm_t c : all) {
            made->members.emplace_back(c);
        }
    }
    groups_.push_back(std::move(made));
    return groups_.back()->members;
}

TESSERA_INLINE void communicator_table::settle(const std::vector<int>& gpus,
                                               const std::vector<communicator_handle>& members) const {
    const index_t began = nanoseconds_now();
    for (std::size_t r = 0; r < members.size() && numbers_.group != nullptr; ++r) {
        while (members[r].get() != nullptr && !has_settled(members[r].get(), gpus[r])) {
            watch(began, [&] { return "NCCL to connect " + names_of(gpus); });
            tessera::detail::yield_or_nap(began, 5'000'000);
        }
    }
}

TESSERA_INLINE void communicator_table::require_usable() const {
    if (aborted_) {
        throw error("tessera: the communication between GPUs was aborted after an error; make a new trainer");
    }
}

TESSERA_INLINE void communicator_table::poll() const {
    for (const auto& each : groups_) {
        const group& g = *each;
        for (std::size_t r = 0; r < g.members.size(); ++r) {
            if (g.members[r].get() != nullptr) {
                has_settled(g.members[r].get(), g.gpus[r]);
            }
        }
    }
}

TESSERA_INLINE void communicator_table::wait(cudaStream_t s) const {
    if (empty()) {
        check(cudaStreamSynchronize(s), "cudaStreamSynchronize");
        return;
    }
    const index_t began = nanoseconds_now();
    for (cudaError_t state = cudaStreamQuery(s); state != cudaSuccess; state = cudaStreamQuery(s)) {
        if (state != cudaErrorNotReady) {
            check(state, "cudaStreamQuery");
        }
        poll();
        watch(began, [this] { return "the GPUs to finish a step (NCCL connects " + names_of(groups_[0]->gpus) + ")"; });
        if (static_cast<double>(nanoseconds_now() - began) > patience_ * 1e9) {
            throw error("tessera: the GPUs have not finished a step within " + std::to_string(patience_) +
                        " seconds; look for a GPU that hangs, or raise backend_options::patience");
        }
        sched_yield();
    }
}

TESSERA_INLINE void communicator_table::abort() noexcept {
    aborted_ = aborted_ || !groups_.empty();
    for (; !groups_.empty(); groups_.pop_back()) {
        for (communicator_handle& c : groups_.back()->members) {
            if (c.get() != nullptr) {
                (void)ncclCommAbort(c.release()); // it is an error that is being told
            }
        }
    }
}

TESSERA_INLINE bool communicator_table::has_settled(ncclComm_t c, int gpu) const {
    ncclResult_t state = ncclSuccess;
    check(ncclCommGetAsyncError(c, &state), "ncclCommGetAsyncError");
    if (state != ncclSuccess && state != ncclInProgress) {
        throw error("tessera: the communication between GPUs failed on " + numbers_.name(gpu) + ": " +
                    ncclGetErrorString(state) + " (" + ncclGetLastError(c) + ")");
    }
    return state == ncclSuccess;
}

TESSERA_INLINE std::string communicator_table::names_of(const std::vector<int>& gpus) const {
    std::string all;
    for (const int gpu : gpus) {
        all += (all.empty() ? "" : ", ") + numbers_.name(gpu);
    }
    return all;
}

TESSERA_INLINE std::vector<communicator_handle> communicator_table::connect(const std::vector<int>& gpus) const {
    ncclUniqueId id{};
    std::string bytes;
    if (numbers_.group->rank() == 0) {
        check(ncclGetUniqueId(&id), "ncclGetUniqueId");
        bytes.assign(reinterpret_cast<const char*>(&id), sizeof id);
    }
    numbers_.group->take_from_first(bytes);
    if (bytes.size() != sizeof id) {
        throw error("tessera: rank 0's identifier of a communicator has " + std::to_string(bytes.size()) +
                    " bytes, and this NCCL's have " + std::to_string(sizeof id) +
                    "; build all ranks with one version of NCCL");
    }
    std::memcpy(&id, bytes.data(), sizeof id);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    std::vector<ncclComm_t> made(gpus.size(), nullptr);
    nccl_group calls;
    for (std::size_t r = 0; r < gpus.size(); ++r) {
        if (numbers_.owns(gpus[r])) {
            const current_gpu current(numbers_.local(gpus[r]));
            check_begun(
                ncclCommInitRankConfig(&made[r], static_cast<int>(gpus.size()), id, static_cast<int>(r), &config),
                "ncclCommInitRankConfig");
        }
    }
    calls.end();
    return settled(gpus, made);
}

TESSERA_INLINE std::vector<communicator_handle> communicator_table::settled(const std::vector<int>& gpus,
                                                                            const std::vector<ncclComm_t>& made) const {
    std::vector<communicator_handle> members;
    for (ncclComm_t c : made) {
        members.emplace_back(c);
    }
    try {
        settle(gpus, members);
        for (std::size_t r = 0; r < members.size() && numbers_.group != nullptr; ++r) {
            int count = static_cast<int>(gpus.size());
            if (members[r].get() != nullptr) {
                check(ncclCommCount(members[r].get(), &count), "ncclCommCount");
            }
            if (count != static_cast<int>(gpus.size())) {
                throw error("tessera: NCCL has connected " + std::to_string(count) + " GPUs, and " + names_of(gpus) +
                            " were meant");
            }
        }
    } catch (...) {
        for (communicator_handle& c : members) {
            if (c.get() != nullptr) {
                ncclCommAbort(c.release());
            }
        }
        throw;
    }
    return members;
}

TESSERA_INLINE void communicator_table::forbid_sums_in_switches() {
    const char* const said = std::getenv("NCCL_NVLS_ENABLE");
    if (said == nullptr) {
        (void)setenv("NCCL_NVLS_ENABLE", "0", 0);
    } else if (std::string(said) != "0") {
        throw error("tessera: NCCL_NVLS_ENABLE is " + std::string(said) +
                    ", so that switches may add up in any order, and runs are to give the same bits; set it to 0, "
                    "or backend_options::same_bits to false");
    }
}

TESSERA_INLINE std::vector<communicator_handle> communicator_table::split(const group& whole,
                                                                          const std::vector<int>& gpus) const {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.splitShare = 1;
    config.blocking = numbers_.group != nullptr ? 0 : config.blocking;
    std::vector<ncclComm_t> made(whole.gpus.size(), nullptr);
    nccl_group calls;
    for (std::size_t r = 0; r < whole.gpus.size(); ++r) { // all of them take part
        if (whole.members[r].get() == nullptr) {
            continue;
        }
        const auto rank = std::find(gpus.begin(), gpus.end(), whole.gpus[r]) - gpus.begin();
        const bool is_member = rank < static_cast<std::ptrdiff_t>(gpus.size());
        const current_gpu current(numbers_.local(whole.gpus[r]));
        check_begun(ncclCommSplit(whole.members[r].get(), is_member ? 0 : NCCL_SPLIT_NOCOLOR,
                                  is_member ? static_cast<int>(rank) : 0, &made[r], &config),
                    "ncclCommSplit");
    }
    calls.end();
    settle(whole.gpus, whole.members);
    std::vector<ncclComm_t> members;
    for (int gpu : gpus) {
        const auto r = std::find(whole.gpus.begin(), whole.gpus.end(), gpu) - whole.gpus.begin();
        members.push_back(made[to_size(r)]);
    }
    return settled(gpus, members);
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
