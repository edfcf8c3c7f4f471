// SPDX-License-Identifier: Apache-2.0
// Bodies of folder.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/folder.hpp"

namespace tessera::files::detail {

TESSERA_INLINE int opened_folder(const std::string& path) {
    return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

TESSERA_INLINE bool is_known(const folder_kind& kind, std::string_view name) {
    const std::size_t temporary = name.find(".tmp.");
    if (temporary != std::string_view::npos && temporary > 0 &&
        is_temporary(name, std::string(name.substr(0, temporary)) + ".tmp.")) {
        name = name.substr(0, temporary); // of a writer of that file
    }
    return name == unfinished_note || name == kind.mark || kind.may_hold(name);
}

TESSERA_INLINE listed list(int folder, const folder_kind& kind) {
    listed all;
    DIR* const entries = ::fdopendir(::dup(folder));
    if (entries == nullptr) {
        return all;
    }
    ::rewinddir(entries);
    while (const dirent* const e = ::readdir(entries)) {
        const std::string name = e->d_name;
        struct stat found {};
        if (name == "." || name == "..") {
            continue;
        }
        const bool is_file = ::fstatat(folder, e->d_name, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(found.st_mode);
        all.foreign = all.foreign.empty() && (!is_file || !is_known(kind, name)) ? name : all.foreign;
        all.names.push_back(name);
    }
    ::closedir(entries);
    return all;
}

TESSERA_INLINE std::string text_in(int folder, const char* name, std::size_t most) {
    const descriptor file(::openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat found {};
    if (file.get() < 0 || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode) ||
        found.st_size > static_cast<off_t>(most)) {
        return {};
    }
    return read_all(file.get(), name, most);
}

} // namespace tessera::files::detail

namespace tessera::files {

TESSERA_INLINE std::string foreign_in(const std::string& path, const folder_kind& kind) {
    const detail::descriptor folder(detail::opened_folder(path));
    return folder.get() < 0 ? "itself" : detail::list(folder.get(), kind).foreign;
}

TESSERA_INLINE bool remove_folder(const std::string& path, const folder_kind& kind) {
    const detail::descriptor folder(detail::opened_folder(path));
    if (folder.get() < 0) {
        return false;
    }
    const detail::listed all = detail::list(folder.get(), kind);
    if (!all.foreign.empty()) {
        return false;
    }
    ::unlinkat(folder.get(), kind.mark, 0);
    for (const std::string& name : all.names) {
        if (name != kind.last && name != unfinished_note) {
            ::unlinkat(folder.get(), name.c_str(), 0);
        }
    }
    ::unlinkat(folder.get(), kind.last, 0);
    ::unlinkat(folder.get(), unfinished_note, 0);
    return ::rmdir(path.c_str()) == 0;
}

TESSERA_INLINE bool is_of_owner(int folder, const folder_kind& kind) {
    return detail::text_in(folder, unfinished_note) == kind.owner + "\n" ||
           detail::text_in(folder, kind.last, most_bytes).find(kind.says) != std::string::npos;
}

TESSERA_INLINE bool is_barely_begun(int folder, const std::vector<std::string>& names, const folder_kind& kind) {
    return names.size() == 1 && detail::is_temporary(names[0], std::string(unfinished_note) + ".tmp.") &&
           (kind.owner + "\n").starts_with(detail::text_in(folder, names[0].c_str()));
}

TESSERA_INLINE void finish_replacing(const std::string& target, const folder_kind& kind) {
    const std::string old = replaced_name(target);
    const detail::descriptor folder(detail::opened_folder(old));
    if (folder.get() < 0) {
        return;
    }
    const detail::listed all = detail::list(folder.get(), kind);
    const bool is_whole = ::faccessat(folder.get(), kind.mark, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    if (!all.foreign.empty() || (!all.names.empty() && !is_whole && !is_of_owner(folder.get(), kind))) {
        return; // somebody else's
    }
    struct stat found {};
    if (is_whole && ::lstat(target.c_str(), &found) != 0 && errno == ENOENT) {
        (void)::rename(old.c_str(), target.c_str());
    } else if (!is_whole || ::access((target + "/" + kind.mark).c_str(), F_OK) == 0) {
        remove_folder(old, kind); // or what a crash has left of it
    }
}

TESSERA_INLINE void remove_left_overs(const std::string& parent, const std::string& stem, const folder_kind& kind) {
    DIR* const entries = ::opendir(parent.c_str());
    if (entries == nullptr) {
        return; // making a folder there will say so
    }
    while (const dirent* const e = ::readdir(entries)) {
        const std::string name = e->d_name;
        const std::size_t end = name.rfind(".tmp.");
        if (!name.starts_with(stem) || end == std::string::npos ||
            !detail::is_temporary(name, name.substr(0, end + 5))) {
            continue;
        }
        std::string path = parent;
        path.append("/").append(name);
        const detail::descriptor left(detail::opened_folder(path));
        if (left.get() < 0 || ::flock(left.get(), LOCK_EX | LOCK_NB) != 0) {
            continue;
        }
        const detail::listed all = detail::list(left.get(), kind);
        const bool is_whole = ::faccessat(left.get(), kind.mark, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
        if (all.names.empty()) {
            ::rmdir(path.c_str());
        } else if (is_whole || is_of_owner(left.get(), kind) || is_barely_begun(left.get(), all.names, kind)) {
            remove_folder(path, kind);
        }
    }
    ::closedir(entries);
}

TESSERA_INLINE new_folder::new_folder(const std::string& target, const folder_kind& kind)
    : target_(without_slash(target)), stem_(target_ + ".tmp."), kind_(kind) {
    finish_replacing(target_, kind_);
    require_replaceable();
    remove_left_overs(parent(), stem_.substr(stem_.rfind('/') + 1), kind_);
    for (int number = 0; path_.empty(); ++number) {
        const std::string path = stem_ + std::to_string(::getpid()) + "." + std::to_string(number);
        if (::mkdir(path.c_str(), 0777) != 0) {
            if (errno != EEXIST || number == most_names) {
                detail::refuse_to_write(target_, "making the folder '" + path + "'", errno);
            }
            continue;
        }
        lock_.reset(detail::opened_folder(path));
        (void)::flock(lock_.get(), LOCK_EX | LOCK_NB);
        if (::access(path.c_str(), F_OK) == 0) { // nobody took it for a dead one's
            path_ = path;
        }
    }
    try {
        write(path_ + "/" + unfinished_note, kind_.owner + "\n");
    } catch (...) {
        remove_folder(path_, kind_);
        throw;
    }
}

TESSERA_INLINE new_folder::~new_folder() {
    if (!path_.empty()) {
        remove_folder(path_, kind_);
    }
}

TESSERA_INLINE void new_folder::commit() {
    require_replaceable();
    ::unlink((path_ + "/" + unfinished_note).c_str());
    if (::fsync(lock_.get()) != 0 && errno != EINVAL) {
        detail::refuse_to_write(target_, "flushing", errno);
    }
    struct stat found {};
    const bool there = ::lstat(target_.c_str(), &found) == 0;
    std::string old = there ? path_ : std::string(); // where the old one is afterwards
    if (there && ::syscall(SYS_renameat2, AT_FDCWD, path_.c_str(), AT_FDCWD, target_.c_str(),
                           static_cast<unsigned>(RENAME_EXCHANGE)) != 0) {
        if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) {
            detail::refuse_to_write(target_, "renaming '" + path_ + "'", errno);
        }
        old = replaced_name(target_);
        rename(target_, old);
        try {
            rename(path_, target_);
        } catch (...) {
            (void)::rename(old.c_str(), target_.c_str());
            throw;
        }
    } else if (!there) {
        rename(path_, target_);
    }
    const detail::descriptor folder(::open(parent().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    (void)::fsync(folder.get()); // so that the name is on the disk, too
    path_.clear();
    if (!old.empty()) {
        remove_folder(old, kind_);
    }
}

TESSERA_INLINE std::string new_folder::without_slash(std::string path) {
    while (path.size() > 1 && path.back() == '/') {
        path.pop_back();
    }
    return path;
}

TESSERA_INLINE std::string new_folder::parent() const {
    const std::size_t slash = target_.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : target_.substr(0, slash);
}

TESSERA_INLINE void new_folder::rename(const std::string& from, const std::string& to) const {
    if (::rename(from.c_str(), to.c_str()) != 0) {
        detail::refuse_to_write(target_, "renaming '" + from + "'", errno);
    }
}

TESSERA_INLINE void new_folder::require_replaceable() const {
    struct stat found {};
    if (::lstat(target_.c_str(), &found) != 0) {
        return;
    }
    if (S_ISDIR(found.st_mode) && ::rmdir(target_.c_str()) == 0) { // an empty folder is as good as none
        return;
    }
    const std::string foreign = foreign_in(target_, kind_);
    const bool is_whole = ::access((target_ + "/" + kind_.mark).c_str(), F_OK) == 0;
    if (!foreign.empty() || !is_whole) {
        const std::string what = S_ISLNK(found.st_mode)    ? "it is a link"
                                 : !S_ISDIR(found.st_mode) ? "it is no folder"
                                 : !is_whole               ? std::string("it has no ") + kind_.mark
                                                           : "it has '" + foreign + "'";
        throw error("cannot write '" + target_ + "': it is there and holds something else (" + what +
                    "); name another folder. It was left as it was");
    }
}

} // namespace tessera::files

#include "tessera/base/end_header.inl"
