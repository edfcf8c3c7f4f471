// SPDX-License-Identifier: Apache-2.0
// Bodies of file.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/base/file.hpp"

namespace tessera::files::detail {

TESSERA_INLINE void refuse_to_read(const std::string& path, const std::string& why) {
    throw error("cannot read '" + path + "': " + why + "; name a file that exists and may be read");
}

TESSERA_INLINE void refuse_to_write(const std::string& path, const std::string& action, int code) {
    throw error("cannot write '" + path + "': " + action + ": " + std::generic_category().message(code) +
                "; choose a folder that exists, is writable and has room. The file was left as it was");
}

TESSERA_INLINE void refuse_what_is_no_file(const std::string& path) {
    throw error("cannot write '" + path + "': it is a folder or a device; name a regular file");
}

TESSERA_INLINE void descriptor::reset(int number) {
    if (number_ >= 0) {
        ::close(number_);
    }
    number_ = number;
}

TESSERA_INLINE int opened_to_read(const std::string& path, std::int64_t* bytes) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe would wait
    if (file < 0) {
        refuse_to_read(path, std::generic_category().message(errno));
    }
    struct stat found {};
    if (::fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) {
        ::close(file);
        refuse_to_read(path, "it is no regular file");
    }
    if (bytes != nullptr) {
        *bytes = static_cast<std::int64_t>(found.st_size);
    }
    return file;
}

TESSERA_INLINE std::string read_all(int from, const std::string& path, std::size_t most) {
    std::string text;
    char part[65536];
    for (;;) {
        const auto got = ::read(from, part, sizeof part);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            refuse_to_read(path, std::generic_category().message(errno));
        }
        if (got == 0) {
            return text;
        }
        text.append(part, to_size(got));
        if (text.size() > most) {
            refuse_to_read(path, "it has more than " + std::to_string(most) + " bytes");
        }
    }
}

TESSERA_INLINE std::string target_of(const std::string& path) {
    char* found = ::realpath(path.c_str(), nullptr);
    std::string target = found != nullptr ? found : path;
    std::free(found);
    return target;
}

TESSERA_INLINE bool is_temporary(std::string_view name, std::string_view stem) {
    if (name.substr(0, stem.size()) != stem) {
        return false;
    }
    name.remove_prefix(stem.size());
    const std::size_t point = name.find('.');
    return point != std::string_view::npos && point > 0 && point + 1 < name.size() &&
           name.find_first_not_of("0123456789") == point &&
           name.find_first_not_of("0123456789", point + 1) == std::string_view::npos;
}

TESSERA_INLINE temporary_file::temporary_file(const std::string& target, int like)
    : target_(target), folder_(target.substr(0, target.rfind('/') + 1)),
      stem_(target.substr(folder_.size()) + ".tmp.") {
    remove_what_dead_processes_left();
    const char* const folder = folder_.empty() ? "." : folder_.c_str();
    file_.reset(::open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
    if (file_.get() >= 0) {
        (void)::flock(file_.get(), LOCK_EX | LOCK_NB); // before it has a name
        take_rights(like);
        return;
    }
    for (int number = 0; path_.empty(); ++number) {
        const std::string path = name(number);
        file_.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
        if (file_.get() < 0 && (errno != EEXIST || number == most_names)) {
            refuse_to_write(target_, "opening '" + path + "'", errno);
        }
        if (file_.get() >= 0) {
            (void)::flock(file_.get(), LOCK_EX | LOCK_NB);
            struct stat mine {};
            if (::fstat(file_.get(), &mine) == 0 && mine.st_nlink > 0) { // nobody took it for a dead one's
                path_ = path;
            }
        }
    }
    take_rights(like);
}

TESSERA_INLINE temporary_file::~temporary_file() {
    if (!path_.empty()) {
        ::unlink(path_.c_str());
    }
}

TESSERA_INLINE void temporary_file::write(std::string_view text) {
    while (!text.empty()) {
        const auto written = ::write(file_.get(), text.data(), text.size());
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0) {
            refuse_to_write(target_, "writing", errno);
        }
        text.remove_prefix(to_size(written));
        written_ += written;
    }
    if (written_ - flushed_ >= flushed_at_once) { // the disk begins while the rest is made
        (void)::sync_file_range(file_.get(), flushed_, written_ - flushed_, SYNC_FILE_RANGE_WRITE);
        flushed_ = written_;
    }
}

TESSERA_INLINE void temporary_file::reserve(std::int64_t bytes) const {
    if (bytes > 0 && ::fallocate(file_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) != 0 &&
        (errno == ENOSPC || errno == EDQUOT)) {
        refuse_to_write(target_, "taking room for " + std::to_string(bytes) + " bytes", errno);
    }
}

TESSERA_INLINE void temporary_file::commit() {
    if (::fsync(file_.get()) != 0 && errno != EINVAL) {
        refuse_to_write(target_, "flushing", errno);
    }
    const std::string unnamed = "/proc/self/fd/" + std::to_string(file_.get());
    for (int number = 0; path_.empty(); ++number) {
        const std::string path = name(number);
        if (::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0) {
            path_ = path;
        } else if (errno != EEXIST || number == most_names) {
            refuse_to_write(target_, "naming it '" + path + "'", errno);
        }
    }
    if (::rename(path_.c_str(), target_.c_str()) != 0) {
        refuse_to_write(target_, "renaming '" + path_ + "'", errno);
    }
    path_.clear();
}

TESSERA_INLINE void temporary_file::take_rights(int like) const {
    if (like >= 0) {
        (void)::fchmod(file_.get(), static_cast<mode_t>(like)); // of another owner's file a new one is made
    }
}

TESSERA_INLINE std::string temporary_file::name(int number) const {
    return folder_ + stem_ + std::to_string(::getpid()) + "." + std::to_string(number);
}

TESSERA_INLINE void temporary_file::remove_what_dead_processes_left() const {
    DIR* const folder = ::opendir(folder_.empty() ? "." : folder_.c_str());
    if (folder == nullptr) {
        return; // opening the file will say so
    }
    while (const dirent* e = ::readdir(folder)) {
        if (!is_temporary(e->d_name, stem_)) {
            continue;
        }
        const std::string path = folder_ + e->d_name;
        const descriptor left(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
        struct stat found {};
        if (left.get() >= 0 && ::fstat(left.get(), &found) == 0 && S_ISREG(found.st_mode) &&
            ::flock(left.get(), LOCK_EX | LOCK_NB) == 0) {
            ::unlink(path.c_str());
        }
    }
    ::closedir(folder);
}

} // namespace tessera::files::detail

namespace tessera::files {

TESSERA_INLINE void open_file::read(std::int64_t at, void* to, std::size_t count) const {
    auto* next = static_cast<char*>(to);
    while (count > 0) {
        const auto got = ::pread(file_.get(), next, count, static_cast<off_t>(at));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            detail::refuse_to_read(path_, got < 0 ? std::generic_category().message(errno) : "it is cut off");
        }
        next += got;
        at += got;
        count -= to_size(got);
    }
}

TESSERA_INLINE std::string read(const std::string& path, std::size_t most) {
    const detail::descriptor file(detail::opened_to_read(path));
    return detail::read_all(file.get(), path, most);
}

TESSERA_INLINE std::string read_if_there(const std::string& path, std::size_t most) {
    struct stat found {};
    return ::stat(path.c_str(), &found) != 0 && errno == ENOENT ? std::string() : read(path, most);
}

TESSERA_INLINE bool is_there(const std::string& path) {
    struct stat found {};
    return ::stat(path.c_str(), &found) == 0;
}

TESSERA_INLINE void write(const std::string& path, std::string_view text) {
    struct stat found {};
    const bool there = ::stat(path.c_str(), &found) == 0;
    if (there && !S_ISREG(found.st_mode)) {
        detail::refuse_what_is_no_file(path);
    }
    detail::temporary_file file(detail::target_of(path), there ? static_cast<int>(found.st_mode & 0777U) : -1);
    file.write(text);
    file.commit();
}

TESSERA_INLINE void require_writable(const std::string& path) {
    struct stat found {};
    if (::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) {
        detail::refuse_what_is_no_file(path);
    }
    const detail::temporary_file file(detail::target_of(path));
}

} // namespace tessera::files

#include "tessera/base/end_header.inl"
