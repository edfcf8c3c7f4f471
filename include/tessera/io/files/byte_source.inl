// SPDX-License-Identifier: Apache-2.0
// Bodies of byte_source.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/byte_source.hpp"

namespace tessera::io::detail {

TESSERA_INLINE byte_source::byte_source(std::string path, std::string_view remedy)
    : path_{std::move(path)}, remedy_{remedy} {
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

TESSERA_INLINE byte_source::~byte_source() {
    if (gzip_) inflateEnd(&stream_);
}

TESSERA_INLINE std::size_t byte_source::read(std::uint8_t* to, std::size_t size) {
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

TESSERA_INLINE void byte_source::refill() {
    const std::size_t got = std::fread(input_.data(), 1, input_.size(), file_.get());
    if (std::ferror(file_.get()) != 0) refuse("cannot be read: " + std::generic_category().message(errno));
    stream_.next_in = input_.data();
    stream_.avail_in = static_cast<uInt>(got);
}

TESSERA_INLINE std::size_t byte_source::copy_some(std::uint8_t* to, uInt room) {
    const uInt size = std::min(room, stream_.avail_in);
    std::copy_n(stream_.next_in, size, to);
    stream_.next_in += size;
    stream_.avail_in -= size;
    return size;
}

TESSERA_INLINE std::size_t byte_source::inflate_some(std::uint8_t* to, uInt room) {
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

TESSERA_INLINE std::string read_whole(const std::string& path, std::string_view remedy, std::size_t most) {
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
