// SPDX-License-Identifier: Apache-2.0
// Files read whole and written whole: regular files alone, of a bounded size. A reader sees the old contents or the new
// ones, never a part; what several processes add to one file is merged under a lock; a process that is killed leaves
// nothing behind that the next writer does not remove.
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

[[noreturn]] void refuse_to_read(const std::string& path, const std::string& why);

[[noreturn]] void refuse_to_write(const std::string& path, const std::string& action, int code);

[[noreturn]] void refuse_what_is_no_file(const std::string& path);

/// An open file; closed, and its lock given up, at the end.
class descriptor {
public:
    explicit descriptor(int number = -1) : number_(number) {}
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor() { reset(-1); }

    int get() const { return number_; }
    void reset(int number);

private:
    int number_;
};

/// A regular file's descriptor, and its size.
int opened_to_read(const std::string& path, std::int64_t* bytes = nullptr);

std::string read_all(int from, const std::string& path, std::size_t most);

/// The file that a path leads to, through symbolic links.
std::string target_of(const std::string& path);

/// True where `name` is `stem` and two numbers with a point between them.
bool is_temporary(std::string_view name, std::string_view stem);

/// A new file that takes the place of its target, or is gone again. Until then it has no name where the file system can
/// do that; elsewhere a name that carries the process and a number, and a lock, by which the next writer sees whether
/// its process still lives.
class temporary_file {
public:
    /// `like`: the rights of a file that it replaces; negative: those of a new one.
    explicit temporary_file(const std::string& target, int like = -1);
    temporary_file(const temporary_file&) = delete;
    temporary_file& operator=(const temporary_file&) = delete;
    ~temporary_file();

    void write(std::string_view text);

    /// Takes room for so many bytes, so that a full disk is found before they are made. Where the file system cannot
    /// say it, nothing happens.
    void reserve(std::int64_t bytes) const;

    /// Puts the file in the place of its target, after its contents are on the disk.
    void commit();

private:
    static constexpr int most_names = 1000;
    static constexpr std::int64_t flushed_at_once = 8 << 20;

    void take_rights(int like) const;

    std::string name(int number) const;

    /// Those of writers of this target whose lock is gone.
    void remove_what_dead_processes_left() const;

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
    void read(std::int64_t at, void* to, std::size_t count) const;

private:
    std::string path_;
    std::int64_t bytes_ = 0;
    detail::descriptor file_;
};

/// The contents of a file. Throws tessera::error where it cannot be read, is a folder or a device, or has more than
/// `most` bytes.
std::string read(const std::string& path, std::size_t most = most_bytes);

/// The same; nothing where there is no such file.
std::string read_if_there(const std::string& path, std::size_t most = most_bytes);

/// Whether there is something of this name.
bool is_there(const std::string& path);

/// Writes the text to the file, replacing it if it exists. Throws tessera::error, and leaves the file as it was, where
/// that fails or where the path names something other than a regular file.
void write(const std::string& path, std::string_view text);

/// Throws tessera::error where write() would, but for a full disk: for those who write at the end of long work. Leaves
/// nothing behind.
void require_writable(const std::string& path);

/// Replaces what a file holds by edit(what it holds), while no other update() of the file runs in any process: of what
/// several add nothing is lost. A file that is not there holds nothing. Throws what edit throws, and tessera::error
/// like read() and write(), and where another process keeps the file locked for `patience` seconds; the file is then as
/// it was.
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

#ifndef TESSERA_COMPILED
#include "tessera/base/file.inl"
#endif

#include "tessera/base/end_header.inl"
