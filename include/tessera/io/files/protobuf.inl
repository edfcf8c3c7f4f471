// SPDX-License-Identifier: Apache-2.0
// Bodies of protobuf.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/protobuf.hpp"

namespace tessera::io {

TESSERA_INLINE wire_field wire_reader::next() {
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

TESSERA_INLINE void wire_reader::refuse(const std::string& what) const {
    throw error("tessera: '" + *called_ + "' is damaged at byte " + std::to_string(left_.data() - from_) + ": " + what +
                "; export it again");
}

TESSERA_INLINE std::int64_t wire_reader::integer_of(const wire_field& f) const {
    return static_cast<std::int64_t>(expect(f, wire_field::kind::varint).bits);
}

TESSERA_INLINE float wire_reader::float_of(const wire_field& f) const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(expect(f, wire_field::kind::fixed32).bits));
}

TESSERA_INLINE void wire_reader::append_integers(const wire_field& f, std::vector<std::int64_t>& to) const {
    if (f.holds != wire_field::kind::bytes) {
        to.push_back(integer_of(f));
        return;
    }
    for (wire_reader packed(f.bytes, *called_, from_); !packed.at_end();) {
        to.push_back(static_cast<std::int64_t>(packed.varint()));
    }
}

TESSERA_INLINE const wire_field& wire_reader::expect(const wire_field& f, wire_field::kind kind) const {
    if (f.holds != kind) {
        refuse("the field " + std::to_string(f.number) + " is of the kind " +
               std::to_string(static_cast<int>(f.holds)) + ", but must be of kind " +
               std::to_string(static_cast<int>(kind)));
    }
    return f;
}

TESSERA_INLINE std::string_view wire_reader::take(std::uint64_t count) {
    if (count > left_.size()) {
        refuse("a field is to have " + std::to_string(count) + " bytes, and " + std::to_string(left_.size()) +
               " are left");
    }
    const std::string_view taken = left_.substr(0, static_cast<std::size_t>(count));
    left_.remove_prefix(static_cast<std::size_t>(count));
    return taken;
}

TESSERA_INLINE std::uint64_t wire_reader::varint() {
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

} // namespace tessera::io

#include "tessera/base/end_header.inl"
