// SPDX-License-Identifier: Apache-2.0
// Messages in the wire format of Protocol Buffers (protobuf.dev/programming-guides/encoding): fields, each with a number and a kind of bytes. What a field
// means is the caller's to know; nothing is copied, and nothing is believed of a length before it is compared with what is there.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::io {

/// One field: its number, and what it holds by its kind of bytes.
struct wire_field {
    enum class kind : int { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

    std::uint32_t number = 0;
    kind holds = kind::varint;
    std::uint64_t bits = 0; ///< of a varint, of 8 or of 4 bytes
    std::string_view bytes; ///< of texts, of messages and of packed numbers
};

/// Reads the fields of a message one after the other. Throws tessera::error, with the place, where the bytes are no message.
class wire_reader {
public:
    /// `called`: what the message belongs to, for messages to people. `from`: the first byte of the whole file, by which places are told.
    wire_reader(std::string_view message, const std::string& called, const char* from)
        : left_(message), called_(&called), from_(from) {}

    bool at_end() const { return left_.empty(); }

    wire_field next() {
        wire_field f;
        const std::uint64_t key = varint();
        f.number = static_cast<std::uint32_t>(key >> 3U);
        f.holds = static_cast<wire_field::kind>(key & 7U);
        if (key >> 3U == 0 || key >> 3U > 536'870'911U) {
            refuse("a field has the number " + std::to_string(key >> 3U));
        }
        switch (f.holds) {
        case wire_field::kind::varint:
            f.bits = varint();
            break;
        case wire_field::kind::fixed64:
            std::memcpy(&f.bits, take(8).data(), 8);
            break;
        case wire_field::kind::fixed32:
            std::memcpy(&f.bits, take(4).data(), 4);
            break;
        case wire_field::kind::bytes:
            f.bytes = take(varint());
            break;
        default:
            refuse("a field is of the kind " + std::to_string(key & 7U) + ", which is none that is read");
        }
        return f;
    }

    [[noreturn]] void refuse(const std::string& what) const {
        throw error("tessera: '" + *called_ + "' is damaged at byte " + std::to_string(left_.data() - from_) + ": " +
                    what + "; export it again");
    }

    // What a field holds, where it is of the kind that the caller expects.

    std::string_view bytes_of(const wire_field& f) const { return expect(f, wire_field::kind::bytes).bytes; }
    std::string text_of(const wire_field& f) const { return std::string(bytes_of(f)); }
    std::int64_t integer_of(const wire_field& f) const {
        return static_cast<std::int64_t>(expect(f, wire_field::kind::varint).bits);
    }
    float float_of(const wire_field& f) const {
        return std::bit_cast<float>(static_cast<std::uint32_t>(expect(f, wire_field::kind::fixed32).bits));
    }
    wire_reader message_of(const wire_field& f) const { return {bytes_of(f), *called_, from_}; }

    /// Repeated integers, one in each field or many packed in one.
    void append_integers(const wire_field& f, std::vector<std::int64_t>& to) const {
        if (f.holds != wire_field::kind::bytes) {
            to.push_back(integer_of(f));
            return;
        }
        for (wire_reader packed(f.bytes, *called_, from_); !packed.at_end();) {
            to.push_back(static_cast<std::int64_t>(packed.varint()));
        }
    }
    /// Repeated float or double, by the size of T.
    template <class T>
    void append_numbers(const wire_field& f, std::vector<T>& to) const {
        constexpr auto single = sizeof(T) == 4 ? wire_field::kind::fixed32 : wire_field::kind::fixed64;
        if (f.holds == single) {
            T x;
            std::memcpy(&x, &f.bits, sizeof(T));
            to.push_back(x);
            return;
        }
        const std::string_view all = bytes_of(f);
        if (all.size() % sizeof(T) != 0) {
            refuse("packed numbers end in the middle of one");
        }
        const std::size_t first = to.size();
        to.resize(first + all.size() / sizeof(T));
        if (!all.empty()) {
            std::memcpy(to.data() + first, all.data(), all.size());
        }
    }

private:
    const wire_field& expect(const wire_field& f, wire_field::kind kind) const {
        if (f.holds != kind) {
            refuse("the field " + std::to_string(f.number) + " is of the kind " +
                   std::to_string(static_cast<int>(f.holds)) + ", but must be of kind " +
                   std::to_string(static_cast<int>(kind)));
        }
        return f;
    }

    std::string_view take(std::uint64_t count) {
        if (count > left_.size()) {
            refuse("a field is to have " + std::to_string(count) + " bytes, and " + std::to_string(left_.size()) +
                   " are left");
        }
        const std::string_view taken = left_.substr(0, static_cast<std::size_t>(count));
        left_.remove_prefix(static_cast<std::size_t>(count));
        return taken;
    }

    std::uint64_t varint() {
        std::uint64_t x = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            if (left_.empty()) {
                refuse("a number ends in the middle");
            }
            const auto byte = static_cast<unsigned char>(left_[0]);
            left_.remove_prefix(1);
            x |= static_cast<std::uint64_t>(byte & 127U) << shift;
            if (byte < 128) {
                return x;
            }
        }
        refuse("a number has more than 10 bytes");
    }

    std::string_view left_;
    const std::string* called_;
    const char* from_;
};

} // namespace tessera::io

#include "tessera/base/end_header.inl"
