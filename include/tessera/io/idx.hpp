// SPDX-License-Identifier: Apache-2.0
// Reads IDX files, the format of MNIST and its relatives, plain or compressed by gzip: two zero bytes, a type, a rank,
// the extents as big-endian 32-bit numbers, the elements. Here the elements are unsigned bytes, of rank 1 (labels) or 3
// (images).
#pragma once

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

namespace tessera::io {

/// The contents of an IDX file: one extent per dimension, the elements with the last dimension fastest.
struct idx_array {
    std::vector<std::int64_t> extents;
    std::vector<std::uint8_t> elements;
};

/// No file with more elements than this is read (1 GiB; Fashion-MNIST has 45 MiB).
inline constexpr std::int64_t idx_element_limit = std::int64_t{1} << 30U;

namespace detail {

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

/// Reads the magic number and the extents, and bounds them.
inline std::vector<std::int64_t> read_idx_extents(byte_source& source, int rank) {
    std::array<std::uint8_t, 4> word{};
    if (source.read(word.data(), word.size()) != word.size()) source.refuse("is cut short: it has no IDX header");
    if (word[0] != 0 || word[1] != 0)
        source.refuse("is not an IDX file: it must start with two zero bytes, not with " + std::to_string(word[0]) +
                      " and " + std::to_string(word[1]));
    if (word[2] != 8)
        source.refuse("has elements of IDX type " + std::to_string(word[2]) + "; expected unsigned bytes, type 8");
    if (word[3] != rank)
        source.refuse("has " + std::to_string(word[3]) + " dimensions; expected " + std::to_string(rank) +
                      (rank == 1 ? ", as labels have" : ", as images have"));
    std::vector<std::int64_t> extents;
    std::int64_t elements = 1;
    for (int dimension = 0; dimension < rank; ++dimension) {
        if (source.read(word.data(), word.size()) != word.size()) source.refuse("is cut short in its IDX header");
        std::int64_t extent = 0;
        for (const std::uint8_t byte : word) extent = extent * 256 + byte;
        const std::string where = "dimension " + std::to_string(dimension) + " of extent " + std::to_string(extent);
        if (extent == 0) source.refuse("has " + where + "; expected at least 1");
        if (extent > idx_element_limit / elements)
            source.refuse("has " + where + ", which makes more than the " + std::to_string(idx_element_limit) +
                          " elements that are believed");
        elements *= extent;
        extents.push_back(extent);
    }
    return extents;
}

} // namespace detail

/// Reads the file, which must hold unsigned bytes in exactly this rank (1 or 3) and nothing else. Throws
/// tessera::error, which names the file, what it has and what was expected, and ends with the remedy. Memory follows
/// the bytes that are there, not the extents that the header claims.
inline idx_array read_idx(const std::string& path, int rank,
                          std::string_view remedy = "fetch the file again from where it came from") {
    if (rank != 1 && rank != 3)
        throw error("IDX files are read in rank 1 or 3, not " + std::to_string(rank) +
                    "; ask for 1 (labels) or 3 (images)");
    detail::byte_source source{path, remedy};
    idx_array result{detail::read_idx_extents(source, rank), {}};
    std::size_t expected = 1;
    for (const std::int64_t extent : result.extents) expected *= static_cast<std::size_t>(extent);
    while (result.elements.size() < expected) {
        const std::size_t before = result.elements.size();
        const std::size_t step = std::min(expected - before, std::max<std::size_t>(before, 1U << 20U));
        result.elements.resize(before + step);
        const std::size_t got = source.read(result.elements.data() + before, step);
        if (got != step)
            source.refuse("is cut short: it has " + std::to_string(before + got) + " elements; its header promises " +
                          std::to_string(expected));
    }
    std::uint8_t extra = 0;
    if (source.read(&extra, 1) != 0)
        source.refuse("goes on after the " + std::to_string(expected) + " elements that its header promises");
    return result;
}

} // namespace tessera::io
