// SPDX-License-Identifier: Apache-2.0
// Reads a file whole, and writes one so that a reader sees the old contents or the new ones, never a part.
#pragma once

#include "tessera/base/error.hpp"

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace tessera::io {

namespace detail {

[[noreturn]] inline void refuse_to_write(const std::string& path, const std::string& action, int code) {
    throw error("cannot write '" + path + "': " + action + ": " + std::generic_category().message(code) +
                "; choose a folder that exists, is writable and has room. The file was left as it was");
}

/// Closes what has been opened for reading.
struct descriptor_guard {
    int descriptor;
    explicit descriptor_guard(int d) : descriptor{d} {}
    descriptor_guard(const descriptor_guard&) = delete;
    descriptor_guard& operator=(const descriptor_guard&) = delete;
    ~descriptor_guard() { ::close(descriptor); }
};

/// A new file beside its target; removed again unless it is renamed onto the target.
class temporary_file {
public:
    /// The name carries the process and a number that the open makes sure is free.
    explicit temporary_file(const std::string& target) : target_{target} {
        const std::string stem = target + ".tmp." + std::to_string(::getpid()) + ".";
        for (int attempt = 0; descriptor_ < 0; ++attempt) {
            path_ = stem + std::to_string(attempt);
            descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            if (descriptor_ < 0 && (errno != EEXIST || attempt == 1000))
                refuse_to_write(target_, "opening '" + path_ + "'", errno);
        }
    }
    temporary_file(const temporary_file&) = delete;
    temporary_file& operator=(const temporary_file&) = delete;
    ~temporary_file() {
        if (descriptor_ >= 0) ::close(descriptor_);
        if (!path_.empty()) ::unlink(path_.c_str());
    }

    void write(std::string_view text) {
        while (!text.empty()) {
            const auto written = ::write(descriptor_, text.data(), text.size());
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) refuse_to_write(target_, "writing '" + path_ + "'", errno);
            text.remove_prefix(static_cast<std::size_t>(written));
        }
    }

    /// Puts the file in the place of its target, after its contents are on the disk.
    void commit() {
        if (::fsync(descriptor_) != 0 && errno != EINVAL) refuse_to_write(target_, "flushing '" + path_ + "'", errno);
        const int descriptor = descriptor_;
        descriptor_ = -1;
        if (::close(descriptor) != 0) refuse_to_write(target_, "closing '" + path_ + "'", errno);
        if (::rename(path_.c_str(), target_.c_str()) != 0) refuse_to_write(target_, "renaming '" + path_ + "'", errno);
        path_.clear();
    }

private:
    std::string target_;
    std::string path_;
    int descriptor_ = -1;
};

} // namespace detail

/// Writes the text to the file, replacing it if it exists. Throws tessera::error, and leaves the file as it was, where
/// that fails or where the path names something other than a regular file.
inline void write_file_atomically(const std::string& path, std::string_view text) {
    struct stat found {};
    if (::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode))
        throw error("cannot write '" + path + "': it is a folder or a device; name a regular file");
    detail::temporary_file file{path};
    file.write(text);
    file.commit();
}

/// Throws tessera::error where write_file_atomically() would, but for a full disk: for those who write at the end of long work. Leaves nothing behind.
inline void require_writable(const std::string& path) {
    struct stat found {};
    if (::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode))
        throw error("cannot write '" + path + "': it is a folder or a device; name a regular file");
    const detail::temporary_file file{path};
}

/// The contents of a file. Throws tessera::error where it cannot be read, is a folder or a device, or has more than `most` bytes.
inline std::string read_file(const std::string& path, std::size_t most = std::size_t{1} << 28U) {
    const auto refuse = [&](const std::string& why) -> error {
        return error("cannot read '" + path + "': " + why + "; name a file that exists and may be read");
    };
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) throw refuse(std::generic_category().message(errno));
    const detail::descriptor_guard guard{descriptor};
    struct stat found {};
    if (::fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode)) throw refuse("it is no regular file");
    std::string text;
    char part[65536];
    for (;;) {
        const auto got = ::read(descriptor, part, sizeof part);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw refuse(std::generic_category().message(errno));
        if (got == 0) return text;
        text.append(part, static_cast<std::size_t>(got));
        if (text.size() > most) throw refuse("it has more than " + std::to_string(most) + " bytes");
    }
}

} // namespace tessera::io
