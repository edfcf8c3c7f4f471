// SPDX-License-Identifier: Apache-2.0
// Folders written whole: a reader sees the old folder or the new one.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/file.hpp"

#include <cstdio>

#include <linux/fs.h>
#include <sys/syscall.h>

namespace tessera::files {

/// Removes a folder of files, without folders in it.
inline void remove_folder(const std::string& path) {
    if (DIR* const folder = ::opendir(path.c_str()); folder != nullptr) {
        while (const dirent* e = ::readdir(folder)) {
            ::unlink((path + "/" + e->d_name).c_str());
        }
        ::closedir(folder);
    }
    ::rmdir(path.c_str());
}

/// A new folder that takes the place of its target when commit() is called, or is gone again. Until then it stands beside it under a name that carries the
/// process, with a lock by which the next writer sees whether that process still lives.
class new_folder {
public:
    /// `mark`: the file that a folder of this kind has; one that is there and has none is not replaced. Throws tessera::error for that, and where the folder
    /// cannot be made.
    new_folder(const std::string& target, const std::string& mark)
        : target_(without_slash(target)), stem_(target_ + ".tmp."), mark_(mark) {
        require_replaceable();
        remove_what_dead_processes_left();
        for (int number = 0; path_.empty(); ++number) {
            const std::string path = stem_ + std::to_string(::getpid()) + "." + std::to_string(number);
            if (::mkdir(path.c_str(), 0777) != 0) {
                if (errno != EEXIST || number == most_names) {
                    detail::refuse_to_write(target_, "making the folder '" + path + "'", errno);
                }
                continue;
            }
            lock_.reset(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
            (void)::flock(lock_.get(), LOCK_EX | LOCK_NB);
            if (::access(path.c_str(), F_OK) == 0) { // nobody took it for a dead one's
                path_ = path;
            }
        }
    }
    new_folder(const new_folder&) = delete;
    new_folder& operator=(const new_folder&) = delete;
    ~new_folder() {
        if (!path_.empty()) {
            remove_folder(path_);
        }
    }

    const std::string& path() const { return path_; }

    /// Puts the folder in the place of its target, after its contents are on the disk; removes what was there.
    void commit() {
        require_replaceable();
        if (::fsync(lock_.get()) != 0 && errno != EINVAL) {
            detail::refuse_to_write(target_, "flushing", errno);
        }
        struct stat found {};
        const bool there = ::stat(target_.c_str(), &found) == 0;
        const long done = there ? ::syscall(SYS_renameat2, AT_FDCWD, path_.c_str(), AT_FDCWD, target_.c_str(),
                                            static_cast<unsigned>(RENAME_EXCHANGE))
                                : ::rename(path_.c_str(), target_.c_str());
        if (done != 0) {
            detail::refuse_to_write(target_, "renaming '" + path_ + "'", errno);
        }
        const detail::descriptor folder(::open(parent().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        (void)::fsync(folder.get()); // so that the name is on the disk, too
        if (there) {
            remove_folder(path_);
        }
        path_.clear();
    }

private:
    static constexpr int most_names = 1000;

    static std::string without_slash(std::string path) {
        while (path.size() > 1 && path.back() == '/') {
            path.pop_back();
        }
        return path;
    }
    std::string parent() const {
        const std::size_t slash = target_.rfind('/');
        return slash == std::string::npos ? "." : slash == 0 ? "/" : target_.substr(0, slash);
    }

    void require_replaceable() const {
        struct stat found {};
        if (::lstat(target_.c_str(), &found) != 0) {
            return;
        }
        const bool is_one = S_ISDIR(found.st_mode) && ::access((target_ + "/" + mark_).c_str(), F_OK) == 0;
        if (!is_one &&
            (!S_ISDIR(found.st_mode) || ::rmdir(target_.c_str()) != 0)) { // an empty folder is as good as none
            throw error("cannot write '" + target_ + "': it is there and holds something else (it has no " + mark_ +
                        "); name another folder. It was left as it was");
        }
    }

    void remove_what_dead_processes_left() const {
        DIR* const folder = ::opendir(parent().c_str());
        if (folder == nullptr) {
            return; // making the folder will say so
        }
        const std::string stem = stem_.substr(stem_.rfind('/') + 1);
        while (const dirent* e = ::readdir(folder)) {
            if (!detail::is_temporary(e->d_name, stem)) {
                continue;
            }
            const std::string path = parent() + "/" + e->d_name;
            const detail::descriptor left(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
            if (left.get() >= 0 && ::flock(left.get(), LOCK_EX | LOCK_NB) == 0) {
                remove_folder(path);
            }
        }
        ::closedir(folder);
    }

    std::string target_, stem_, mark_;
    std::string path_; ///< empty: it stands where it should
    detail::descriptor lock_;
};

} // namespace tessera::files

#include "tessera/base/end_header.inl"
