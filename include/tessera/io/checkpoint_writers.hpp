// SPDX-License-Identifier: Apache-2.0
// The processes that write or read one checkpoint together: what they tell each other meanwhile.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/processes.hpp"
#include "tessera/io/safetensors.hpp"

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

/// The one process of a training without ranks, or one of several; what it does with the others may be on a thread of its own, in the same order in all.
class checkpoint_writers {
public:
    /// All processes call it. `files`: of the checkpoints that they write.
    explicit checkpoint_writers(process_group* group, int files = 0) : group_(group) {
        if (group == nullptr) {
            own_ = std::make_unique<saving_notes>();
            notes_ = own_.get();
            own_files_.resize(static_cast<std::size_t>(files));
            files_ = own_files_.data();
        } else { // one after the other, on every node
            auto* const memory = static_cast<std::byte*>(group->share(
                group->first_here(),
                static_cast<index_t>(sizeof(saving_notes) + sizeof(written_file) * static_cast<std::size_t>(files))));
            notes_ = reinterpret_cast<saving_notes*>(memory);
            files_ = reinterpret_cast<written_file*>(memory + sizeof(saving_notes));
            group->nodes() > 1 ? group->meet(meeting::take_memory) : void(); // letters come only when all have it
        }
    }
    checkpoint_writers(const checkpoint_writers&) = delete;
    checkpoint_writers& operator=(const checkpoint_writers&) = delete;
    ~checkpoint_writers() {
        if (group_ != nullptr) {
            group_->unshare(notes_);
            group_->nodes() > 1 ? group_->withdraw() : void(); // after a failure: else all letters have gone
        }
    }

    int rank() const { return group_ == nullptr ? 0 : group_->rank(); }
    int size() const { return group_ == nullptr ? 1 : group_->size(); }

    void set_path(const std::string& path) {
        if (path.size() >= sizeof notes_->path) {
            throw error("tessera: the path of a checkpoint has more than " + std::to_string(sizeof notes_->path - 1) +
                        " bytes");
        }
        std::snprintf(notes_->path, sizeof notes_->path, "%s", path.c_str());
    }
    std::string path() const { return notes_->path; }
    void set_file(int file, const written_file& f) {
        files_[file] = f;
        mine_.push_back(file);
    }
    written_file file(int file) const { return files_[file]; }

    /// A part of the work, after which all know whether it has failed anywhere: then it throws in every process. All do the same parts in the same order.
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

    /// To the other nodes: what this process has noted, and then its phase. The letters of a phase have gone when all have come to the next one.
    void send() {
        std::vector<letter>& letters = letters_[phase_ % 2];
        letters.clear();
        const shared_place at = group_->place_of(notes_);
        const auto* const memory = reinterpret_cast<const std::byte*>(notes_);
        const auto add = [&](letter& l, const void* what, std::size_t bytes) {
            const auto begin = static_cast<const std::byte*>(what) - memory;
            l.rows.emplace_back();
            l.rows.back() = {{at.piece, at.offset + static_cast<std::uint64_t>(begin)},
                             static_cast<index_t>(bytes),
                             static_cast<index_t>(bytes),
                             1,
                             static_cast<const std::byte*>(what)};
        };
        const saving_notes::note& mine = notes_->of[rank()];
        for (int node = 0; node < group_->nodes(); ++node) {
            if (node == group_->node()) {
                continue;
            }
            letters.emplace_back();
            letter& l = letters.back();
            l.node = node;
            add(l, &mine.failed, sizeof mine.failed);
            add(l, mine.words, sizeof mine.words);
            rank() == 0 ? add(l, notes_->path, sizeof notes_->path) : void();
            for (const int f : mine_) {
                add(l, files_ + f, sizeof *files_);
            }
            l.then = letter::signal::flag;
            l.flag = {at.piece,
                      at.offset + static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(&mine.phase) - memory)};
        }
        for (const letter& l : letters) {
            group_->post(l, phase_, nullptr);
        }
        mine_.clear();
    }

    void wait_for_all() {
        notes_->of[rank()].phase.store(++phase_);
        group_->nodes() > 1 ? send() : void();
        const index_t began = nanoseconds_now();
        for (int r = 0; r < size(); ++r) {
            while (notes_->of[r].phase.load() < phase_) {
                usleep(100);
                group_->look(began, r, [&] { return group_->name_of(r) + " to do its part of a checkpoint"; });
                if (group_->failed()) {
                    group_->throw_failure();
                }
            }
        }
    }

    process_group* group_;
    std::unique_ptr<saving_notes> own_;
    std::vector<written_file> own_files_;
    std::vector<int> mine_;            ///< files noted since the last phase
    std::vector<letter> letters_[2]{}; ///< of the last two phases
    saving_notes* notes_ = nullptr;
    written_file* files_ = nullptr; ///< written by their writers
    std::uint64_t phase_ = 0;
};

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
