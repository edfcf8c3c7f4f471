// SPDX-License-Identifier: Apache-2.0
// NCCL communicators: one for every group of GPUs that a plan names, of this process or of several, each of which has
// its own GPUs' part. Their errors come later than the calls that cause them, so they are polled; after one, all
// communicators are aborted, since what is under way on the others never ends.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/issue/gpu_numbers.hpp"
#include "tessera/backend/cuda/issue/guards.hpp"
#include "tessera/base/clock.hpp"
#include "tessera/base/owned.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <vector>

namespace tessera::cuda {

class communicator_table {
public:
    /// `same_bits`: sums must be the same bits each time, see forbid_sums_in_switches(). `patience`: seconds that wait() waits.
    explicit communicator_table(bool same_bits = true, double patience = 300)
        : same_bits_(same_bits), patience_(patience) {}
    communicator_table(const communicator_table&) = delete;
    communicator_table& operator=(const communicator_table&) = delete;
    ~communicator_table() {
        if (numbers_.group != nullptr && numbers_.group->failed()) {
            abort(); // others may be gone, for whom ncclCommDestroy would wait
        }
        while (!groups_.empty()) { // parts before what they were split from
            groups_.pop_back();
        }
    }

    /// Before the first communicator: how GPUs are numbered.
    void number(const gpu_numbers& how) { numbers_ = how; }

    /// The communicators of GPUs `gpus`, by rank, null for those of other processes; made at first use: split from that
    /// of more GPUs, with which they share memory, where there is one. All processes of a group call it with the same.
    /// Throws tessera::error where NCCL cannot connect them, and group_error where one of the processes does not come.
    const std::vector<communicator_handle>& get(const std::vector<int>& gpus) {
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
        groups_.push_back(static_cast<owned<group>&&>(made));
        return groups_.back()->members;
    }

    bool empty() const { return groups_.empty(); }

    /// Waits until communicators of processes have begun what they were told, which then is on the streams. They do not
    /// block, so that whoever waits sees who is missing.
    void settle(const std::vector<int>& gpus, const std::vector<communicator_handle>& members) const {
        const index_t began = nanoseconds_now();
        for (std::size_t r = 0; r < members.size() && numbers_.group != nullptr; ++r) {
            while (members[r].get() != nullptr && !has_settled(members[r].get(), gpus[r])) {
                watch(began, [&] { return "NCCL to connect " + names_of(gpus); });
                tessera::detail::yield_or_nap(began, 5'000'000);
            }
        }
    }

    void require_usable() const {
        if (aborted_) {
            throw error("tessera: the communication between GPUs was aborted after an error; make a new trainer");
        }
    }

    /// Throws the first error that NCCL met since.
    void poll() const {
        for (const auto& each : groups_) {
            const group& g = *each;
            for (std::size_t r = 0; r < g.members.size(); ++r) {
                g.members[r].get() != nullptr ? void(has_settled(g.members[r].get(), g.gpus[r])) : void();
            }
        }
    }

    /// Waits until a stream has done all that it was given. Throws what went wrong, of its GPU or of communication; what takes longer than
    /// the patience hangs.
    void wait(cudaStream_t s) const {
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
            watch(began,
                  [this] { return "the GPUs to finish a step (NCCL connects " + names_of(groups_[0]->gpus) + ")"; });
            if (static_cast<double>(nanoseconds_now() - began) > patience_ * 1e9) {
                throw error("tessera: the GPUs have not finished a step within " + std::to_string(patience_) +
                            " seconds; look for a GPU that hangs, or raise backend_options::patience");
            }
            sched_yield();
        }
    }

    /// Ends all that is under way, on every communicator, so that streams do not hang.
    void abort() noexcept {
        aborted_ = aborted_ || !groups_.empty();
        for (; !groups_.empty(); groups_.pop_back()) {
            for (communicator_handle& c : groups_.back()->members) {
                if (c.get() != nullptr) {
                    (void)ncclCommAbort(c.release()); // it is an error that is being told
                }
            }
        }
    }

private:
    struct group {
        std::vector<int> gpus;
        std::vector<communicator_handle> members;
    };

    /// Whether a communicator is at nothing any more. Throws the error that NCCL met.
    bool has_settled(ncclComm_t c, int gpu) const {
        ncclResult_t state = ncclSuccess;
        check(ncclCommGetAsyncError(c, &state), "ncclCommGetAsyncError");
        if (state != ncclSuccess && state != ncclInProgress) {
            throw error("tessera: the communication between GPUs failed on " + numbers_.name(gpu) + ": " +
                        ncclGetErrorString(state) + " (" + ncclGetLastError(c) + ")");
        }
        return state == ncclSuccess;
    }

    /// For loops that wait for other processes: throws where one has failed, ended or not come in time, as is said of
    /// waits of a group.
    template <class Waits>
    void watch(index_t began, Waits&& waits) const {
        if (process_group* const all = numbers_.group; all != nullptr) {
            all->look(began, -1, waits);
            if (static_cast<double>(nanoseconds_now() - began) > patience_ * 1e9) {
                all->fail("rank " + std::to_string(all->rank()) + " has waited " + std::to_string(patience_) +
                          " s for " + waits() + all->who_is_stopped() +
                          "; look for a GPU that hangs, or raise backend_options::patience");
            }
            all->failed() ? all->throw_failure() : void();
        }
    }
    std::string names_of(const std::vector<int>& gpus) const {
        std::string all;
        for (const int gpu : gpus) {
            all += (all.empty() ? "" : ", ") + numbers_.name(gpu);
        }
        return all;
    }

    /// A communicator of GPUs of several processes. Rank 0, whose GPUs are in each of these, makes its identifier,
    /// which the group hands on.
    std::vector<communicator_handle> connect(const std::vector<int>& gpus) const {
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

    /// What was made, when it is there; what is not there in the end is aborted.
    std::vector<communicator_handle> settled(const std::vector<int>& gpus, const std::vector<ncclComm_t>& made) const {
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
                    throw error("tessera: NCCL has connected " + std::to_string(count) + " GPUs, and " +
                                names_of(gpus) + " were meant");
                }
            }
        } catch (...) {
            for (communicator_handle& c : members) {
                c.get() != nullptr ? void(ncclCommAbort(c.release())) : void();
            }
            throw;
        }
        return members;
    }

    /// NVSwitches add up in the order in which summands arrive (NVLS), which NCCL leaves alone only when its environment says so before its
    /// first communicator.
    static void forbid_sums_in_switches() {
        const char* const said = std::getenv("NCCL_NVLS_ENABLE");
        if (said == nullptr) {
            (void)setenv("NCCL_NVLS_ENABLE", "0", 0);
        } else if (std::string(said) != "0") {
            throw error("tessera: NCCL_NVLS_ENABLE is " + std::string(said) +
                        ", so that switches may add up in any order, and runs are to give the same bits; set it to 0, "
                        "or backend_options::same_bits to false");
        }
    }

    std::vector<communicator_handle> split(const group& whole, const std::vector<int>& gpus) const {
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
            members.push_back(made[static_cast<std::size_t>(r)]);
        }
        return settled(gpus, members);
    }

    gpu_numbers numbers_;
    std::vector<owned<group>> groups_; ///< references to members stay valid
    bool aborted_ = false;
    bool same_bits_;
    double patience_;
};

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
