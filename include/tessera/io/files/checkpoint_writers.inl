// SPDX-License-Identifier: Apache-2.0
// Bodies of checkpoint_writers.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/checkpoint_writers.hpp"

namespace tessera::io::detail {

TESSERA_INLINE checkpoint_writers::checkpoint_writers(process_group* group, int files) : group_(group) {
    if (group == nullptr) {
        own_ = std::make_unique<saving_notes>();
        notes_ = own_.get();
        own_files_.resize(to_size(files));
        files_ = own_files_.data();
    } else { // one after the other, on every node
        auto* const memory = static_cast<std::byte*>(group->share(
            group->first_here(), static_cast<index_t>(sizeof(saving_notes) + sizeof(written_file) * to_size(files))));
        notes_ = reinterpret_cast<saving_notes*>(memory);
        files_ = reinterpret_cast<written_file*>(memory + sizeof(saving_notes));
        if (group->nodes() > 1) {
            group->barrier(barrier_point::take_memory); // remote writes come only when all have it
        }
    }
}

TESSERA_INLINE checkpoint_writers::~checkpoint_writers() {
    if (group_ != nullptr) {
        group_->unshare(notes_);
        if (group_->nodes() > 1) {
            group_->withdraw(); // after a failure: else all remote writes have gone
        }
    }
}

TESSERA_INLINE void checkpoint_writers::set_path(const std::string& path) {
    if (path.size() >= sizeof notes_->path) {
        throw error("tessera: the path of a checkpoint has more than " + std::to_string(sizeof notes_->path - 1) +
                    " bytes");
    }
    std::snprintf(notes_->path, sizeof notes_->path, "%s", path.c_str());
}

TESSERA_INLINE void checkpoint_writers::set_file(int file, const written_file& f) {
    files_[file] = f;
    mine_.push_back(file);
}

TESSERA_INLINE void checkpoint_writers::send() {
    std::vector<remote_write>& writes = writes_[phase_ % 2];
    writes.clear();
    const shared_place at = group_->place_of(notes_);
    const auto* const memory = reinterpret_cast<const std::byte*>(notes_);
    const auto add = [&](remote_write& l, const void* what, std::size_t bytes) {
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
        writes.emplace_back();
        remote_write& l = writes.back();
        l.node = node;
        add(l, &mine.failed, sizeof mine.failed);
        add(l, mine.words, sizeof mine.words);
        if (rank() == 0) {
            add(l, notes_->path, sizeof notes_->path);
        }
        for (const int f : mine_) {
            add(l, files_ + f, sizeof *files_);
        }
        l.then = remote_write::signal::flag;
        l.flag = {at.piece,
                  at.offset + static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(&mine.phase) - memory)};
    }
    for (const remote_write& l : writes) {
        group_->post(l, phase_, nullptr);
    }
    mine_.clear();
}

TESSERA_INLINE void checkpoint_writers::wait_for_all() {
    notes_->of[rank()].phase.store(++phase_);
    if (group_->nodes() > 1) {
        send();
    }
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

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
