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
    /// `same_bits`: sums must be the same bits each time, see forbid_sums_in_switches(). `patience`: seconds that
    /// wait() waits.
    explicit communicator_table(bool same_bits = true, double patience = 300)
        : same_bits_(same_bits), patience_(patience) {}
    communicator_table(const communicator_table&) = delete;
    communicator_table& operator=(const communicator_table&) = delete;
    ~communicator_table();

    /// Before the first communicator: how GPUs are numbered.
    void number(const gpu_numbers& how) { numbers_ = how; }

    /// The communicators of GPUs `gpus`, by rank, null for those of other processes; made at first use: split from that
    /// of more GPUs, with which they share memory, where there is one. All processes of a group call it with the same.
    /// Throws tessera::error where NCCL cannot connect them, and group_error where one of the processes does not come.
    const std::vector<communicator_handle>& get(const std::vector<int>& gpus);

    bool empty() const { return groups_.empty(); }

    /// Waits until communicators of processes have begun what they were told, which then is on the streams. They do not
    /// block, so that whoever waits sees who is missing.
    void settle(const std::vector<int>& gpus, const std::vector<communicator_handle>& members) const;

    void require_usable() const;

    /// Throws the first error that NCCL met since.
    void poll() const;

    /// Waits until a stream has done all that it was given. Throws what went wrong, of its GPU or of communication;
    /// what takes longer than the patience hangs.
    void wait(cudaStream_t s) const;

    /// Ends all that is under way, on every communicator, so that streams do not hang.
    void abort() noexcept;

private:
    struct group {
        std::vector<int> gpus;
        std::vector<communicator_handle> members;
    };

    /// Whether a communicator is at nothing any more. Throws the error that NCCL met.
    bool has_settled(ncclComm_t c, int gpu) const;

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
            if (all->failed()) {
                all->throw_failure();
            }
        }
    }
    std::string names_of(const std::vector<int>& gpus) const;

    /// A communicator of GPUs of several processes. Rank 0, whose GPUs are in each of these, makes its identifier,
    /// which the group hands on.
    std::vector<communicator_handle> connect(const std::vector<int>& gpus) const;

    /// What was made, when it is there; what is not there in the end is aborted.
    std::vector<communicator_handle> settled(const std::vector<int>& gpus, const std::vector<ncclComm_t>& made) const;

    /// NVSwitches add up in the order in which summands arrive (NVLS), which NCCL leaves alone only when its
    /// environment says so before its first communicator.
    static void forbid_sums_in_switches();

    std::vector<communicator_handle> split(const group& whole, const std::vector<int>& gpus) const;

    gpu_numbers numbers_;
    std::vector<owned<group>> groups_; ///< references to members stay valid
    bool aborted_ = false;
    bool same_bits_;
    double patience_;
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/issue/communicators.inl"
#endif

#include "tessera/base/end_header.inl"
