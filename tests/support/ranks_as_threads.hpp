// SPDX-License-Identifier: Apache-2.0
// Processes of a group as threads of one process, each with some of a session's devices: what ranks write is written
// without MPI.
#pragma once

#include "tessera/io/files/checkpoint.hpp"

#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace test_support {

namespace ts = tessera;

/// What such a group shares.
struct shared_by_threads {
    std::mutex mutex;
    ts::group_page page;
    std::vector<std::unique_ptr<std::byte[]>> memory; ///< in the order in which it is shared
};

class thread_rank final : public ts::process_group {
public:
    thread_rank(shared_by_threads& all, int rank, int size, int devices_each)
        : ts::process_group(rank, size, devices_each, 60), all_(all) {
        join_group(&all.page);
    }
    void* share(int, ts::index_t bytes) override {
        const std::unique_lock lock(all_.mutex);
        if (all_.memory.size() == shared_) {
            all_.memory.push_back(std::make_unique<std::byte[]>(ts::to_size(bytes) + 64));
        }
        return all_.memory[shared_++].get();
    }
    void unshare(void*) noexcept override {}

private:
    shared_by_threads& all_;
    std::size_t shared_ = 0;
};

/// A session as a rank sees it: it copies what its own devices hold, and whoever asks for more is told.
template <class Session>
class session_of_rank {
public:
    session_of_rank(Session& s, ts::process_group& group) : session_(s), group_(group) {}

    ts::graph_view graph_of() const { return session_.graph_of(); }
    const ts::optimizer& update() const { return session_.update(); }
    const ts::plan& training_plan() const { return session_.training_plan(); }
    std::uint64_t steps() const { return session_.steps(); }
    std::uint64_t seed() const { return session_.seed(); }
    double learning_rate() const { return session_.learning_rate(); }
    bool keeps(int p, int state) const { return session_.keeps(p, state); }
    std::vector<float> state_of(int p, int state) const { return session_.state_of(p, state); }
    std::vector<ts::state_piece> state_pieces(int p, int state) const { return session_.state_pieces(p, state); }
    void copy_state(int p, int state, const ts::state_piece& piece, const ts::box& to, float* numbers) const {
        bool own = false;
        for (const int d : piece.devices) {
            own = own || group_.owns(d);
        }
        if (!own) {
            throw ts::error("rank " + std::to_string(group_.rank()) + " copies what no device of it holds");
        }
        session_.copy_state(p, state, piece, to, numbers);
    }
    void load_state(int, int, ts::state_source) {}
    std::vector<ts::residual_key> residuals() const { return session_.residuals(); }
    void copy_residual(const ts::residual_key& r, float* numbers) const {
        if (!group_.owns(r.device)) {
            throw ts::error("rank " + std::to_string(group_.rank()) + " copies what a device of another has left out");
        }
        session_.copy_residual(r, numbers);
    }
    void set_residual(const ts::residual_key&, std::span<const float>) {}
    void settle() const {}
    void resume_after(std::uint64_t, std::uint64_t, double) {}
    ts::process_group* processes() const { return &group_; }

private:
    Session& session_;
    ts::process_group& group_;
};

/// Saves a session's checkpoint as so many ranks do, each with `devices_each` of its devices. Returns what each has
/// thrown, or "".
template <class Session>
std::vector<std::string> save_as_ranks(Session& s, int ranks, int devices_each, const std::string& folder) {
    s.settle(); // which each rank would do for itself
    const auto all = std::make_unique<shared_by_threads>();
    std::vector<std::string> said(ts::to_size(ranks));
    std::vector<std::thread> threads;
    for (int r = 0; r < ranks; ++r) {
        threads.emplace_back([&, r] {
            try {
                thread_rank group(*all, r, ranks, devices_each);
                const session_of_rank<Session> mine(s, group);
                ts::io::save_checkpoint(mine, folder);
            } catch (const std::exception& e) {
                said[ts::to_size(r)] = e.what();
            }
        });
    }
    for (std::thread& t : threads) {
        t.join();
    }
    return said;
}

} // namespace test_support
