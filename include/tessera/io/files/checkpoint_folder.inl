// SPDX-License-Identifier: Apache-2.0
// Bodies of checkpoint_folder.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/checkpoint_folder.hpp"

namespace tessera::io::detail {

TESSERA_INLINE std::vector<std::string> remove_older(const checkpoint_options& o, const std::string& saver,
                                                     std::uint64_t step) {
    std::vector<std::string> left;
    int whole = 0;
    for (const std::uint64_t s : saved_steps(o.folder)) {
        std::string path = o.folder;
        path.append("/").append(step_folder(s));
        if (s > step) {
            continue;
        }
        if (const std::string why = why_not_own(path, saver); !why.empty()) {
            left.emplace_back("'").append(path).append("' ").append(why);
            continue;
        }
        whole += is_committed(path) ? 1 : 0;
        if (is_committed(path) ? whole > o.keep : whole > 0) {
            files::remove_folder(path, checkpoint_kind(saver));
        }
    }
    return left;
}

TESSERA_INLINE void require_options(const checkpoint_options& o) {
    if (o.folder.empty() || o.keep < 1) {
        throw error("tessera: checkpoints need a folder, and at least one of them is kept; " + std::to_string(o.keep) +
                    " were asked for");
    }
}

TESSERA_INLINE void take_folder(const checkpoint_options& o, saver_lock& lock) {
    if (::mkdir(o.folder.c_str(), 0777) != 0 && errno != EEXIST) {
        throw error("tessera: cannot make the folder '" + o.folder + "': " + std::strerror(errno));
    }
    lock.take(o.folder);
}

TESSERA_INLINE std::vector<std::string> write_step(checkpoint_writers& all, const checkpoint_part& part,
                                                   const checkpoint_options& o, saver_lock& lock) {
    const std::string path = o.folder + "/" + step_folder(part.state().step);
    all.together([&] {
        if (all.rank() != 0) {
            return;
        }
        take_folder(o, lock);
        files::finish_replacing(path, checkpoint_kind(lock.identifier()));
        struct stat found {};
        const bool is_there =
            ::lstat(path.c_str(), &found) == 0 && (!S_ISDIR(found.st_mode) || ::rmdir(path.c_str()) != 0);
        if (const std::string why = is_there ? why_not_own(path, lock.identifier()) : ""; !why.empty()) {
            throw error("cannot write '" + path + "': it is there and " + why +
                        "; move it, or save into another folder. It was left as it was");
        }
        if (is_there && !is_committed(path)) {
            files::remove_folder(path, checkpoint_kind(lock.identifier())); // what is left of one
        }
    });
    write_checkpoint(
        all, part, path, [&](int file, std::size_t i) { return part.tensors(file)[i].numbers; }, lock.identifier());
    return all.rank() == 0 ? remove_older(o, lock.identifier(), part.state().step) : std::vector<std::string>{};
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
