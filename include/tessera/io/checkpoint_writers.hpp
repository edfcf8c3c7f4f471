// SPDX-License-Identifier: Apache-2.0
// The processes that write one checkpoint together, each a file: what they tell each other meanwhile.
#pragma once

#include "tessera/execute/processes.hpp"
#include "tessera/io/safetensors.hpp"

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>

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

/// The one process of a training without ranks, or one of several; what it does with the others may be on a thread of its own, in the same order in all.
class checkpoint_writers {
public:
    /// All processes call it.
    explicit checkpoint_writers(process_group* group) : group_(group) {
        if (group == nullptr) {
            own_ = std::make_unique<saving_notes>();
            notes_ = own_.get();
        } else {
            notes_ = static_cast<saving_notes*>(group->share(0, sizeof(saving_notes)));
        }
    }
    checkpoint_writers(const checkpoint_writers&) = delete;
    checkpoint_writers& operator=(const checkpoint_writers&) = delete;
    ~checkpoint_writers() { group_ != nullptr ? group_->unshare(notes_) : void(); }

    int rank() const { return group_ == nullptr ? 0 : group_->rank(); }
    int size() const { return group_ == nullptr ? 1 : group_->size(); }

    /// The file of a process.
    std::string name(int rank) const {
        if (size() == 1) {
            return "model.safetensors";
        }
        char text[64];
        std::snprintf(text, sizeof text, "model-%05d-of-%05d.safetensors", rank + 1, size());
        return text;
    }
    void set_path(const std::string& path) {
        if (path.size() >= sizeof notes_->path) {
            throw error("tessera: the path of a checkpoint has more than " + std::to_string(sizeof notes_->path - 1) +
                        " bytes");
        }
        std::snprintf(notes_->path, sizeof notes_->path, "%s", path.c_str());
    }
    std::string path() const { return notes_->path; }
    void set_file(const written_file& f) {
        notes_->of[rank()].bytes = f.bytes;
        notes_->of[rank()].crc = f.crc;
    }
    written_file file(int rank) const { return {notes_->of[rank].bytes, notes_->of[rank].crc}; }

    /// Before a checkpoint: what the last one has left is forgotten when all have come.
    void begin() {
        if (group_ != nullptr) {
            notes_->of[rank()].failed.store(0);
            wait_for_all();
        }
    }
    /// A part of the work, after which all know whether it has failed anywhere: then it throws in every process.
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
            mine.failed.store(1);
        }
        wait_for_all();
        std::string words;
        for (int r = 0; r < size() && words.empty(); ++r) {
            if (notes_->of[r].failed.load() != 0) {
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
            std::int64_t bytes = 0;
            std::uint32_t crc = 0;
            std::atomic<int> failed{0};
            std::atomic<std::uint64_t> phase{0}; ///< parts of the work that are done
            char words[1024] = {};
        };
        char path[4096] = {};
        note of[max_processes]{};
    };

    void wait_for_all() {
        notes_->of[rank()].phase.store(++phase_);
        const index_t began = nanoseconds_now();
        for (int r = 0; r < size(); ++r) {
            while (notes_->of[r].phase.load() < phase_) {
                usleep(100);
                group_->look(began, r, [&] { return group_->name_of(r) + " to save its part of a checkpoint"; });
                if (group_->failed()) {
                    group_->throw_failure();
                }
            }
        }
    }

    process_group* group_;
    std::unique_ptr<saving_notes> own_;
    saving_notes* notes_ = nullptr;
    std::uint64_t phase_ = 0;
};

} // namespace tessera::io::detail
