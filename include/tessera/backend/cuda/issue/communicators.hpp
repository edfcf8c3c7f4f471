// SPDX-License-Identifier: Apache-2.0
// NCCL communicators of this process: one for every group of GPUs that a plan names. Their errors come later than the calls that cause
// them, so they are polled; after one, all communicators are aborted, since what is under way on the others never ends.
#pragma once

#include "tessera/backend/cuda/issue/guards.hpp"
#include "tessera/base/clock.hpp"
#include "tessera/base/owned.hpp"

#include <algorithm>
#include <cstdlib>
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
        while (!groups_.empty()) { // parts before what they were split from
            groups_.pop_back();
        }
    }

    /// The communicators of GPUs `gpus`, by rank; made at first use: split from that of more GPUs, with which they share memory, where there
    /// is one. Throws tessera::error where NCCL cannot connect them.
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
                ncclResult_t state = ncclSuccess;
                check(ncclCommGetAsyncError(g.members[r].get(), &state), "ncclCommGetAsyncError");
                if (state != ncclSuccess && state != ncclInProgress) {
                    throw error("tessera: the communication between GPUs failed on GPU " + std::to_string(g.gpus[r]) +
                                ": " + ncclGetErrorString(state) + " (" + ncclGetLastError(g.members[r].get()) + ")");
                }
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
        const double start = seconds_now();
        for (cudaError_t state = cudaStreamQuery(s); state != cudaSuccess; state = cudaStreamQuery(s)) {
            if (state != cudaErrorNotReady) {
                check(state, "cudaStreamQuery");
            }
            poll();
            if (seconds_now() - start > patience_) {
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

    static std::vector<communicator_handle> split(const group& whole, const std::vector<int>& gpus) {
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.splitShare = 1;
        std::vector<ncclComm_t> made(whole.gpus.size(), nullptr);
        nccl_group calls;
        for (std::size_t r = 0; r < whole.gpus.size(); ++r) { // all of them take part
            const auto rank = std::find(gpus.begin(), gpus.end(), whole.gpus[r]) - gpus.begin();
            const bool is_member = rank < static_cast<std::ptrdiff_t>(gpus.size());
            const current_gpu current(whole.gpus[r]);
            check(ncclCommSplit(whole.members[r].get(), is_member ? 0 : NCCL_SPLIT_NOCOLOR,
                                is_member ? static_cast<int>(rank) : 0, &made[r], &config),
                  "ncclCommSplit");
        }
        calls.end();
        std::vector<communicator_handle> members;
        for (int gpu : gpus) {
            const auto r = std::find(whole.gpus.begin(), whole.gpus.end(), gpu) - whole.gpus.begin();
            members.emplace_back(made[static_cast<std::size_t>(r)]);
        }
        return members;
    }

    std::vector<owned<group>> groups_; ///< references to members stay valid
    bool aborted_ = false;
    bool same_bits_;
    double patience_;
};

} // namespace tessera::cuda
