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
    byte_source(std::string path, std::string_view remedy) : path_{std::move(path)}, remedy_{remedy} {
        struct stat found {};
        if (::stat(path_.c_str(), &found) != 0) refuse("cannot be opened: " + std::generic_category().message(errno));
        if (!S_ISREG(found.st_mode)) refuse("is not a regular file");
        file_.reset(std::fopen(path_.c_str(), "rb"));
        if (!file_) refuse("cannot be opened: " + std::generic_category().message(errno));
        refill();
        gzip_ = stream_.avail_in >= 2 && input_[0] == 0x1f && input_[1] == 0x8b;
        constexpr int gzip_only = 16 + MAX_WBITS;
        if (gzip_ && inflateInit2(&stream_, gzip_only) != Z_OK) refuse("cannot be decompressed: zlib does not start");
    }
    byte_source(const byte_source&) = delete;
    byte_source& operator=(const byte_source&) = delete;
    ~byte_source() {
        if (gzip_) inflateEnd(&stream_);
    }

    /// Fills the buffer as far as the file goes; returns the number of bytes.
    std::size_t read(std::uint8_t* to, std::size_t size) {
        std::size_t done = 0;
        while (done < size) {
            if (stream_.avail_in == 0) refill();
            if (stream_.avail_in == 0 && !(gzip_ && inside_member_)) break;
            // At most what the type of zlib's counter holds in one call.
            const auto room = static_cast<uInt>(std::min<std::size_t>(size - done, 1U << 20U));
            done += gzip_ ? inflate_some(to + done, room) : copy_some(to + done, room);
        }
        return done;
    }

    [[noreturn]] void refuse(const std::string& what) const { throw error("'" + path_ + "' " + what + "; " + remedy_); }

private:
    struct close_file {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };

    void refill() {
        const std::size_t got = std::fread(input_.data(), 1, input_.size(), file_.get());
        if (std::ferror(file_.get()) != 0) refuse("cannot be read: " + std::generic_category().message(errno));
        stream_.next_in = input_.data();
        stream_.avail_in = static_cast<uInt>(got);
    }

    std::size_t copy_some(std::uint8_t* to, uInt room) {
        const uInt size = std::min(room, stream_.avail_in);
        std::copy_n(stream_.next_in, size, to);
        stream_.next_in += size;
        stream_.avail_in -= size;
        return size;
    }

    std::size_t inflate_some(std::uint8_t* to, uInt room) {
        inside_member_ = true;
        stream_.next_out = to;
        stream_.avail_out = room;
        const int status = inflate(&stream_, Z_NO_FLUSH);
        // A gzip file may hold several members, so whatever follows the first must be one.
        if (status == Z_STREAM_END) {
            inside_member_ = false;
            inflateReset(&stream_);
        } else if (status == Z_BUF_ERROR && stream_.avail_in == 0) {
            refuse("is cut short: its compressed data does not end");
        } else if (status != Z_OK) {
            refuse(std::string("is damaged: ") + (stream_.msg != nullptr ? stream_.msg : "zlib cannot decompress it"));
        }
        return room - stream_.avail_out;
    }

    std::string path_;
    std::string remedy_;
    std::unique_ptr<std::FILE, close_file> file_;
    std::array<std::uint8_t, 1U << 16U> input_{};
    z_stream stream_{};
    bool gzip_ = false;
    bool inside_member_ = false;
};

/// The whole contents, decompressed; refused where they are more than `most` bytes.
inline std::string read_whole(const std::string& path, std::string_view remedy,
                              std::size_t most = std::size_t{1} << 30U) {
    byte_source source{path, remedy};
    std::string text;
    std::array<std::uint8_t, 1U << 16U> part{};
    while (const std::size_t got = source.read(part.data(), part.size())) {
        text.insert(text.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(got));
        if (text.size() > most) source.refuse("has more than " + std::to_string(most) + " bytes");
    }
    return text;
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
