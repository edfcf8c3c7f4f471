// SPDX-License-Identifier: Apache-2.0
// Event files read as their format says, by plain loops, without the library's encoder and checksum.
#pragma once

#include "tessera/base/box.hpp"
#include "tessera/base/error.hpp"
#include "tessera/io/reports/event_file.hpp"

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace test {

/// Bit by bit, from the highest down as the standard defines it: reflected in and out.
inline std::uint32_t crc_by_bits(std::string_view bytes) {
    std::uint32_t r = 0xffffffffU;
    for (const char c : bytes) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            const std::uint32_t in = (static_cast<unsigned char>(c) >> bit) & 1U;
            r = (r << 1U) ^ (((r >> 31U) ^ in) != 0 ? 0x1edc6f41U : 0U);
        }
    }
    std::uint32_t reflected = 0;
    for (unsigned bit = 0; bit < 32; ++bit) reflected |= ((r >> bit) & 1U) << (31 - bit);
    return ~reflected;
}

/// Reads event files as their format says, without any of the library's code but its exception.
class event_decoder {
public:
    explicit event_decoder(std::string bytes) : bytes_(std::move(bytes)) {}

    std::string version;
    std::vector<tessera::io::scalar> scalars;

    void read() {
        while (at_ < bytes_.size()) {
            const std::string length = take(8);
            check(length, take(4));
            const std::string data = take(tessera::to_size(number(length)));
            check(data, take(4));
            read_event(data);
        }
    }

private:
    static std::uint64_t number(std::string_view bytes) {
        std::uint64_t n = 0;
        for (std::size_t i = 0; i < bytes.size(); ++i)
            n |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
        return n;
    }
    std::string take(std::size_t count) {
        if (count > bytes_.size() - at_) throw tessera::error("cut off");
        at_ += count;
        return bytes_.substr(at_ - count, count);
    }
    static void check(const std::string& data, const std::string& masked) {
        const std::uint32_t unmasked = static_cast<std::uint32_t>(number(masked)) - 0xa282ead8U;
        if (((unmasked << 15U) | (unmasked >> 17U)) != crc_by_bits(data)) throw tessera::error("damaged");
    }
    static std::uint64_t varint(std::string_view& from) {
        std::uint64_t n = 0;
        for (unsigned shift = 0;; shift += 7) {
            const auto byte = static_cast<unsigned char>(from.at(0));
            from.remove_prefix(1);
            n |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
            if (byte < 0x80U) return n;
        }
    }
    template <class Take>
    static void fields(std::string_view of, Take&& take) {
        while (!of.empty()) {
            const std::uint64_t key = varint(of);
            std::size_t size = 0;
            std::uint64_t plain = 0;
            switch (key & 7U) {
            case 0:
                plain = varint(of);
                break;
            case 1:
                size = 8;
                break;
            case 2:
                size = tessera::to_size(varint(of));
                break;
            case 5:
                size = 4;
                break;
            default:
                throw tessera::error("unknown wire type");
            }
            if (size > of.size()) throw tessera::error("a field is cut off");
            take(key >> 3U, of.substr(0, size), plain);
            of.remove_prefix(size);
        }
    }
    void read_event(std::string_view data) {
        tessera::io::scalar s;
        bool has_scalar = false;
        fields(data, [&](std::uint64_t field, std::string_view bytes, std::uint64_t plain) {
            if (field == 1) s.wall_time = std::bit_cast<double>(number(bytes));
            if (field == 2) s.step = static_cast<std::int64_t>(plain);
            if (field == 3) version = bytes;
            if (field != 5) return;
            fields(bytes, [&](std::uint64_t, std::string_view value, std::uint64_t) {
                fields(value, [&](std::uint64_t part, std::string_view x, std::uint64_t) {
                    has_scalar = true;
                    if (part == 1) s.tag = x;
                    if (part == 2)
                        s.value = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(number(x))));
                });
            });
        });
        if (has_scalar) scalars.push_back(s);
    }

    std::string bytes_;
    std::size_t at_ = 0;
};

inline event_decoder decoded(const std::string& bytes) {
    event_decoder d(bytes);
    d.read();
    return d;
}

} // namespace test
