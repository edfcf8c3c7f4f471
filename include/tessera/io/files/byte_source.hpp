// SPDX-License-Identifier: Apache-2.0
// The bytes of a data file, plain or compressed by gzip.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <utility>
#include <vector>
#include <zlib.h>

namespace tessera::io::detail {

/// The bytes of a file, decompressed where it starts as gzip does. Not gzread, which ignores what follows the
/// compressed data.
class byte_source {
public:
    byte_source(std::string path, std::string_view remedy);
    byte_source(const byte_source&) = delete;
    byte_source& operator=(const byte_source&) = delete;
    ~byte_source();

    /// Fills the buffer as far as the file goes; returns the number of bytes.
    std::size_t read(std::uint8_t* to, std::size_t size);

    [[noreturn]] void refuse(const std::string& what) const { throw error("'" + path_ + "' " + what + "; " + remedy_); }

private:
    struct close_file {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };

    void refill();

    std::size_t copy_some(std::uint8_t* to, uInt room);

    std::size_t inflate_some(std::uint8_t* to, uInt room);

    std::string path_;
    std::string remedy_;
    std::unique_ptr<std::FILE, close_file> file_;
    std::array<std::uint8_t, 1U << 16U> input_{};
    z_stream stream_{};
    bool gzip_ = false;
    bool inside_member_ = false;
};

/// The whole contents, decompressed; refused where they are more than `most` bytes.
std::string read_whole(const std::string& path, std::string_view remedy, std::size_t most = std::size_t{1} << 30U);

} // namespace tessera::io::detail

#ifndef TESSERA_COMPILED
#include "tessera/io/files/byte_source.inl"
#endif

#include "tessera/base/end_header.inl"
