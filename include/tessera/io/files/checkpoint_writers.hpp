// SPDX-License-Identifier: Apache-2.0
// The processes that write or read one checkpoint together: what they tell each other meanwhile.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/ranks/processes.hpp"
#include "tessera/io/files/safetensors.hpp"

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace tessera::io::detail {

/// The processes that share a session's plans, or null.
template <class Session>
process_group* processes_of(const Session& s) {
    if constexpr (requires { s.processes(); }) {
        return s.processes();
    } else {
        return nullptr;
    }
}

/// The one process of a training without ranks, or one of several; what it does with the others may be on a thread of
/// its own, in the same order in all.
class checkpoint_writers {
public:
    /// All processes call it. `files`: of the checkpoints that they write.
    explicit checkpoint_writers(process_group* group, int files = 0);
    checkpoint_writers(const checkpoint_writers&) = delete;
    checkpoint_writers& operator=(const checkpoint_writers&) = delete;
    ~checkpoint_writers();

    int rank() const { return group_ == nullptr ? 0 : group_->rank(); }
    int size() const { return group_ == nullptr ? 1 : group_->size(); }

    void set_path(const std::string& path);
    std::string path() const { return notes_->path; }
    void set_file(int file, const written_file& f);
    written_file file(int file) const { return files_[file]; }

    /// A part of the work, after which all know whether it has failed anywhere: then it throws in every process. All do
    /// the same parts in the same order.
    template <class Work>
    void together(Work&& work) {
        if (group_ == nullptr) {
            work();
            return;
        }
        saving_notes::note& mine = notes_->of[rank()];
        try {
            work();
        } catch (const std::exception& e) {
            std::snprintf(mine.words, sizeof mine.words, "%s", e.what());
            mine.failed.store(phase_ +
                              1); // by the part's number, since others may not have looked at the part before yet
        }
        wait_for_all();
        std::string words;
        for (int r = 0; r < size() && words.empty(); ++r) {
            if (notes_->of[r].failed.load() == phase_) {
                words = notes_->of[r].words + (r == rank() ? std::string() : " (on rank " + std::to_string(r) + ")");
            }
        }
        if (!words.empty()) {
            wait_for_all(); // until all have read them
            throw error(words);
        }
    }

private:
    struct saving_notes {
        struct note {
            std::atomic<std::uint64_t> failed{0}; ///< the last part that has
            std::atomic<std::uint64_t> phase{0};  ///< parts of the work that are done
            char words[1024] = {};
        };
        char path[4096] = {};
        note of[max_processes]{};
    };

    /// To the other nodes: what this process has noted, and then its phase. The remote writes of a phase have gone when
    /// all have come to the next one.
    void send();

    void wait_for_all();

    process_group* group_;
    std::unique_ptr<saving_notes> own_;
    std::vector<written_file> own_files_;
    std::vector<int> mine_;                 ///< files noted since the last phase
    std::vector<remote_write> writes_[2]{}; ///< of the last two phases
    saving_notes* notes_ = nullptr;
    written_file* files_ = nullptr; ///< written by their writers
    std::uint64_t phase_ = 0;
};

} // namespace tessera::io::detail

#ifndef TESSERA_COMPILED
#include "tessera/io/files/checkpoint_writers.inl"
#endif

#include "tessera/base/end_header.inl"
