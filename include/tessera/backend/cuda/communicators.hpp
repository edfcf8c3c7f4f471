// SPDX-License-Identifier: Apache-2.0
// NCCL communicators of this process: one for every group of GPUs that a plan names. Their errors come later than the calls that cause
// them, so they are polled; after one, all communicators are aborted, since what is under way on the others never ends.
#pragma once

#include "tessera/backend/cuda/handles.hpp"

#include <deque>
#include <vector>

namespace tessera::cuda {

class communicator_table {
public:
    /// The communicators of GPUs `gpus`, by rank; made at first use. Throws tessera::error where NCCL cannot connect them.
    const std::vector<communicator_handle>& get(const std::vector<int>& gpus) {
        for (const group& g : groups_) {
            if (g.gpus == gpus) {
                return g.members;
            }
        }
        require_usable();
        std::vector<ncclComm_t> made(gpus.size(), nullptr);
        check(ncclCommInitAll(made.data(), static_cast<int>(gpus.size()), gpus.data()), "ncclCommInitAll");
        groups_.push_back({gpus, {}});
        for (ncclComm_t c : made) {
            groups_.back().members.emplace_back(c);
        }
        return groups_.back().members;
    }

    bool empty() const { return groups_.empty(); }

    void require_usable() const {
        if (aborted_) {
            throw error("tessera: the exchange between GPUs was aborted after an error; make a new trainer");
        }
    }

    /// Throws the first error that NCCL met since.
    void poll() const {
        for (const group& g : groups_) {
            for (std::size_t r = 0; r < g.members.size(); ++r) {
                ncclResult_t state = ncclSuccess;
                check(ncclCommGetAsyncError(g.members[r].get(), &state), "ncclCommGetAsyncError");
                if (state != ncclSuccess && state != ncclInProgress) {
                    throw error("tessera: the exchange between GPUs failed on GPU " + std::to_string(g.gpus[r]) + ": " +
                                ncclGetErrorString(state) + " (" + ncclGetLastError(g.members[r].get()) + ")");
                }
            }
        }
    }

    /// Ends all that is under way, on every communicator, so that streams do not hang.
    void abort() noexcept {
        aborted_ = aborted_ || !groups_.empty();
        for (group& g : groups_) {
            for (communicator_handle& c : g.members) {
                if (c.get() != nullptr) {
                    (void)ncclCommAbort(c.release()); // it is an error that is being told
                }
            }
        }
        groups_.clear();
    }

private:
    struct group {
        std::vector<int> gpus;
        std::vector<communicator_handle> members;
    };
    std::deque<group> groups_; ///< references to members stay valid
    bool aborted_ = false;
};

} // namespace tessera::cuda
