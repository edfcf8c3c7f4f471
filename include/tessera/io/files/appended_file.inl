// SPDX-License-Identifier: Apache-2.0
// Bodies of appended_file.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/io/files/appended_file.hpp"

namespace tessera::io::detail {

TESSERA_INLINE appended_file::appended_file(std::string path, bool must_be_new) : path_(std::move(path)) {
    file_.reset(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (must_be_new ? O_EXCL : 0), 0666));
    struct stat found {};
    if (file_.get() < 0 && must_be_new && errno == EEXIST) return;
    if (file_.get() < 0 || ::fstat(file_.get(), &found) != 0) refuse("opening", errno);
    is_regular_ = S_ISREG(found.st_mode);
    bytes_ = static_cast<std::int64_t>(found.st_size);
}

TESSERA_INLINE void appended_file::append(std::string_view record) {
    const std::string_view whole = record;
    while (!record.empty()) {
        const auto written = ::write(file_.get(), record.data(), record.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) {
            const int code = errno;
            const bool torn = is_regular_ && ::ftruncate(file_.get(), static_cast<off_t>(bytes_)) != 0;
            refuse(torn ? "writing, which left a part of a record" : "writing", code);
        }
        record.remove_prefix(to_size(written));
    }
    bytes_ += static_cast<std::int64_t>(whole.size());
}

TESSERA_INLINE void appended_file::shorten(std::int64_t bytes) {
    if (::ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0) refuse("cutting off its torn last line", errno);
    bytes_ = bytes;
}

TESSERA_INLINE void appended_file::flush() const {
    if (::fsync(file_.get()) != 0 && errno != EINVAL && errno != EROFS) refuse("flushing", errno);
}

TESSERA_INLINE void appended_file::refuse(const std::string& action, int code) const {
    throw error("cannot log to '" + path_ + "': " + action + ": " + std::generic_category().message(code) +
                "; choose a folder that exists, is writable and has room. What was logged before is kept");
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
