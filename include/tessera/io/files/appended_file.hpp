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
    explicit appended_file(std::string path, bool must_be_new = false);

    [[nodiscard]] bool is_open() const { return file_.get() >= 0; }
    [[nodiscard]] bool is_regular() const { return is_regular_; }
    [[nodiscard]] std::int64_t bytes() const { return bytes_; }
    [[nodiscard]] const std::string& path() const { return path_; }

    /// Appends a record. Throws tessera::error where that fails, such as on a full disk; the file then ends before the
    /// record.
    void append(std::string_view record);
    /// Cuts off what follows the first so many bytes.
    void shorten(std::int64_t bytes);
    /// Waits until what was appended is on the disk.
    void flush() const;

private:
    [[noreturn]] void refuse(const std::string& action, int code) const;

    std::string path_;
    files::detail::descriptor file_;
    bool is_regular_ = false;
    std::int64_t bytes_ = 0;
};

} // namespace tessera::io::detail

#ifndef TESSERA_COMPILED
#include "tessera/io/files/appended_file.inl"
#endif

#include "tessera/base/end_header.inl"
