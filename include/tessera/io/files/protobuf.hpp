// SPDX-License-Identifier: Apache-2.0
// Messages in the wire format of Protocol Buffers (protobuf.dev/programming-guides/encoding): fields, each with a
// number and a kind of bytes. What a field means is the caller's to know; nothing is copied, and nothing is believed of
// a length before it is compared with what is there.
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

/// Reads the fields of a message one after the other. Throws tessera::error, with the place, where the bytes are no
/// message.
class wire_reader {
public:
    /// `called`: what the message belongs to, for messages to people. `from`: the first byte of the whole file, by
    /// which places are told.
    wire_reader(std::string_view message, const std::string& called, const char* from)
        : left_(message), called_(&called), from_(from) {}

    bool at_end() const { return left_.empty(); }

    wire_field next();

    [[noreturn]] void refuse(const std::string& what) const;

    // What a field holds, where it is of the kind that the caller expects.

    std::string_view bytes_of(const wire_field& f) const { return expect(f, wire_field::kind::bytes).bytes; }
    std::string text_of(const wire_field& f) const { return std::string(bytes_of(f)); }
    std::int64_t integer_of(const wire_field& f) const;
    float float_of(const wire_field& f) const;
    wire_reader message_of(const wire_field& f) const { return {bytes_of(f), *called_, from_}; }

    /// Repeated integers, one in each field or many packed in one.
    void append_integers(const wire_field& f, std::vector<std::int64_t>& to) const;
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
    const wire_field& expect(const wire_field& f, wire_field::kind kind) const;

    std::string_view take(std::uint64_t count);

    std::uint64_t varint();

    std::string_view left_;
    const std::string* called_;
    const char* from_;
};

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/files/protobuf.inl"
#endif

#include "tessera/base/end_header.inl"
