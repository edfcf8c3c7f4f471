// SPDX-License-Identifier: Apache-2.0
// A file that grows record by record and holds whole records only: what a failed write left of one is cut off again.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/file.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace tessera::io::detail {

class appended_file {
public:
    /// Opens a file to append to it; makes it if it is not there. `must_be_new`: one that is there is left alone, and
    /// is_open() is false. Throws tessera::error where it cannot be opened.
    explicit appended_file(std::string path, bool must_be_new = false) : path_(std::move(path)) {
        file_.reset(
            ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (must_be_new ? O_EXCL : 0), 0666));
        struct stat found {};
        if (file_.get() < 0 && must_be_new && errno == EEXIST) return;
        if (file_.get() < 0 || ::fstat(file_.get(), &found) != 0) refuse("opening", errno);
        is_regular_ = S_ISREG(found.st_mode);
        bytes_ = static_cast<std::int64_t>(found.st_size);
    }

    [[nodiscard]] bool is_open() const { return file_.get() >= 0; }
    [[nodiscard]] bool is_regular() const { return is_regular_; }
    [[nodiscard]] std::int64_t bytes() const { return bytes_; }
    [[nodiscard]] const std::string& path() const { return path_; }

    /// Appends a record. Throws tessera::error where that fails, such as on a full disk; the file then ends before the
    /// record.
    void append(std::string_view record) {
        const std::string_view whole = record;
        while (!record.empty()) {
            const auto written = ::write(file_.get(), record.data(), record.size());
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) {
                const int code = errno;
                const bool torn = is_regular_ && ::ftruncate(file_.get(), static_cast<off_t>(bytes_)) != 0;
                refuse(torn ? "writing, which left a part of a record" : "writing", code);
            }
            record.remove_prefix(static_cast<std::size_t>(written));
        }
        bytes_ += static_cast<std::int64_t>(whole.size());
    }
    /// Cuts off what follows the first so many bytes.
    void shorten(std::int64_t bytes) {
        if (::ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0) refuse("cutting off its torn last line", errno);
        bytes_ = bytes;
    }
    /// Waits until what was appended is on the disk.
    void flush() const {
        if (::fsync(file_.get()) != 0 && errno != EINVAL && errno != EROFS) refuse("flushing", errno);
    }

private:
    [[noreturn]] void refuse(const std::string& action, int code) const {
        throw error("cannot log to '" + path_ + "': " + action + ": " + std::generic_category().message(code) +
                    "; choose a folder that exists, is writable and has room. What was logged before is kept");
    }

    std::string path_;
    files::detail::descriptor file_;
    bool is_regular_ = false;
    std::int64_t bytes_ = 0;
};

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
