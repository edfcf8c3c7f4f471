// SPDX-License-Identifier: Apache-2.0
// Files read whole and written whole: regular files alone, of a bounded size. A reader sees the old contents or the new ones, never a part; what
// several processes add to one file is merged under a lock; a process that is killed leaves nothing behind that the next writer does not remove.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::files {

/// The most that a file is read of, unless a caller says less.
inline constexpr std::size_t most_bytes = std::size_t{1} << 28U;

namespace detail {

[[noreturn]] inline void refuse_to_read(const std::string& path, const std::string& why) {
    throw error("cannot read '" + path + "': " + why + "; name a file that exists and may be read");
}

[[noreturn]] inline void refuse_to_write(const std::string& path, const std::string& action, int code) {
    throw error("cannot write '" + path + "': " + action + ": " + std::generic_category().message(code) +
                "; choose a folder that exists, is writable and has room. The file was left as it was");
}

[[noreturn]] inline void refuse_what_is_no_file(const std::string& path) {
    throw error("cannot write '" + path + "': it is a folder or a device; name a regular file");
}

/// An open file; closed, and its lock given up, at the end.
class descriptor {
public:
    explicit descriptor(int number = -1) : number_(number) {}
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor() { reset(-1); }

    int get() const { return number_; }
    void reset(int number) {
        if (number_ >= 0) {
            ::close(number_);
        }
        number_ = number;
    }

private:
    int number_;
};

/// A regular file's descriptor, and its size.
inline int opened_to_read(const std::string& path, std::int64_t* bytes = nullptr) {
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

inline std::string read_all(int from, const std::string& path, std::size_t most) {
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
        text.append(part, static_cast<std::size_t>(got));
        if (text.size() > most) {
            refuse_to_read(path, "it has more than " + std::to_string(most) + " bytes");
        }
    }
}

/// The file that a path leads to, through symbolic links.
inline std::string target_of(const std::string& path) {
    char* found = ::realpath(path.c_str(), nullptr);
    std::string target = found != nullptr ? found : path;
    std::free(found);
    return target;
}

/// True where `name` is `stem` and two numbers with a point between them.
inline bool is_temporary(std::string_view name, std::string_view stem) {
    if (name.substr(0, stem.size()) != stem) {
        return false;
    }
    name.remove_prefix(stem.size());
    const std::size_t point = name.find('.');
    return point != std::string_view::npos && point > 0 && point + 1 < name.size() &&
           name.find_first_not_of("0123456789") == point &&
           name.find_first_not_of("0123456789", point + 1) == std::string_view::npos;
}

/// A new file that takes the place of its target, or is gone again. Until then it has no name where the file system can do that; elsewhere a name
/// that carries the process and a number, and a lock, by which the next writer sees whether its process still lives.
class temporary_file {
public:
    /// `like`: the rights of a file that it replaces; negative: those of a new one.
    explicit temporary_file(const std::string& target, int like = -1)
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
    temporary_file(const temporary_file&) = delete;
    temporary_file& operator=(const temporary_file&) = delete;
    ~temporary_file() {
        if (!path_.empty()) {
            ::unlink(path_.c_str());
        }
    }

    void write(std::string_view text) {
        while (!text.empty()) {
            const auto written = ::write(file_.get(), text.data(), text.size());
            if (written < 0 && errno == EINTR) {
                continue;
            }
            if (written < 0) {
                refuse_to_write(target_, "writing", errno);
            }
            text.remove_prefix(static_cast<std::size_t>(written));
            written_ += written;
        }
        if (written_ - flushed_ >= flushed_at_once) { // the disk begins while the rest is made
            (void)::sync_file_range(file_.get(), flushed_, written_ - flushed_, SYNC_FILE_RANGE_WRITE);
            flushed_ = written_;
        }
    }

    /// Takes room for so many bytes, so that a full disk is found before they are made. Where the file system cannot say it, nothing happens.
    void reserve(std::int64_t bytes) const {
        if (bytes > 0 && ::fallocate(file_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) != 0 &&
            (errno == ENOSPC || errno == EDQUOT)) {
            refuse_to_write(target_, "taking room for " + std::to_string(bytes) + " bytes", errno);
        }
    }

    /// Puts the file in the place of its target, after its contents are on the disk.
    void commit() {
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

private:
    static constexpr int most_names = 1000;
    static constexpr std::int64_t flushed_at_once = 8 << 20;

    void take_rights(int like) const {
        if (like >= 0) {
            (void)::fchmod(file_.get(), static_cast<mode_t>(like)); // of another owner's file a new one is made
        }
    }

    std::string name(int number) const {
        return folder_ + stem_ + std::to_string(::getpid()) + "." + std::to_string(number);
    }

    /// Those of writers of this target whose lock is gone.
    void remove_what_dead_processes_left() const {
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

    std::string target_, folder_, stem_;
    std::string path_; ///< empty: it has no name
    descriptor file_;
    std::int64_t written_ = 0, flushed_ = 0; ///< bytes; of which the disk has begun to write
};

} // namespace detail

/// A new file, written in parts, that takes the place of its target when commit() is called.
using new_file = detail::temporary_file;

/// A file of any size, open for reading at any place.
class open_file {
public:
    /// Throws tessera::error where it cannot be read, or is a folder or a device.
    explicit open_file(const std::string& path) : path_(path), file_(detail::opened_to_read(path, &bytes_)) {}

    std::int64_t bytes() const { return bytes_; }
    /// Throws tessera::error where the file has less.
    void read(std::int64_t at, void* to, std::size_t count) const {
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
            count -= static_cast<std::size_t>(got);
        }
    }

private:
    std::string path_;
    std::int64_t bytes_ = 0;
    detail::descriptor file_;
};

/// The contents of a file. Throws tessera::error where it cannot be read, is a folder or a device, or has more than `most` bytes.
inline std::string read(const std::string& path, std::size_t most = most_bytes) {
    const detail::descriptor file(detail::opened_to_read(path));
    return detail::read_all(file.get(), path, most);
}

/// The same; nothing where there is no such file.
inline std::string read_if_there(const std::string& path, std::size_t most = most_bytes) {
    struct stat found {};
    return ::stat(path.c_str(), &found) != 0 && errno == ENOENT ? std::string() : read(path, most);
}

/// Whether there is something of this name.
inline bool is_there(const std::string& path) {
    struct stat found {};
    return ::stat(path.c_str(), &found) == 0;
}

/// Writes the text to the file, replacing it if it exists. Throws tessera::error, and leaves the file as it was, where
/// that fails or where the path names something other than a regular file.
inline void write(const std::string& path, std::string_view text) {
    struct stat found {};
    const bool there = ::stat(path.c_str(), &found) == 0;
    if (there && !S_ISREG(found.st_mode)) {
        detail::refuse_what_is_no_file(path);
    }
    detail::temporary_file file(detail::target_of(path), there ? static_cast<int>(found.st_mode & 0777U) : -1);
    file.write(text);
    file.commit();
}

/// Throws tessera::error where write() would, but for a full disk: for those who write at the end of long work. Leaves nothing behind.
inline void require_writable(const std::string& path) {
    struct stat found {};
    if (::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) {
        detail::refuse_what_is_no_file(path);
    }
    const detail::temporary_file file(detail::target_of(path));
}

/// Replaces what a file holds by edit(what it holds), while no other update() of the file runs in any process: of what several add nothing is
/// lost. A file that is not there holds nothing. Throws what edit throws, and tessera::error like read() and write(), and where another
/// process keeps the file locked for `patience` seconds; the file is then as it was.
template <class Edit>
void update(const std::string& path, std::size_t most, Edit&& edit, int patience = 30) {
    const std::string target = detail::target_of(path);
    for (int waited = 0;;) {
        struct stat there {};
        const bool is_new = ::stat(target.c_str(), &there) != 0;
        if (!is_new && !S_ISREG(there.st_mode)) {
            detail::refuse_what_is_no_file(path);
        }
        const detail::descriptor file(::open(target.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666));
        struct stat mine {};
        if (file.get() < 0 || ::fstat(file.get(), &mine) != 0) {
            detail::refuse_to_write(path, "opening", errno);
        }
        if (!S_ISREG(mine.st_mode)) {
            detail::refuse_what_is_no_file(path);
        }
        while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
            if ((errno != EWOULDBLOCK && errno != EINTR) || ++waited > patience * 1000) {
                detail::refuse_to_write(path, "locking", errno);
            }
            ::usleep(1000);
        }
        // Whoever had the lock has put another file in this one's place.
        if (::stat(target.c_str(), &there) != 0 || there.st_ino != mine.st_ino || there.st_dev != mine.st_dev) {
            continue;
        }
        try {
            const std::string text = edit(detail::read_all(file.get(), path, most));
            detail::temporary_file next(target, static_cast<int>(mine.st_mode & 0777U));
            next.write(text);
            next.commit();
        } catch (...) {
            if (is_new && mine.st_size == 0) {
                ::unlink(target.c_str()); // which the lock was for
            }
            throw;
        }
        return;
    }
}

} // namespace tessera::files

#include "tessera/base/end_header.inl"
