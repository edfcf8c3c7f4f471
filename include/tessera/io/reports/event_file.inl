// SPDX-License-Identifier: Apache-2.0
// Bodies of event_file.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/reports/event_file.hpp"

namespace tessera::io::detail {

TESSERA_INLINE void put_bytes(std::string& to, std::uint64_t number, int bytes) {
    for (int i = 0; i < bytes; ++i) to += static_cast<char>((number >> (8 * i)) & 0xffU);
}

TESSERA_INLINE void put_varint(std::string& to, std::uint64_t number) {
    for (; number >= 0x80U; number >>= 7U) to += static_cast<char>((number & 0x7fU) | 0x80U);
    to += static_cast<char>(number);
}

TESSERA_INLINE void put_double(std::string& to, unsigned field, double value) {
    put_varint(to, field << 3U | 1U);
    put_bytes(to, std::bit_cast<std::uint64_t>(value), 8);
}

TESSERA_INLINE void put_float(std::string& to, unsigned field, float value) {
    put_varint(to, field << 3U | 5U);
    put_bytes(to, std::bit_cast<std::uint32_t>(value), 4);
}

TESSERA_INLINE void put_text(std::string& to, unsigned field, std::string_view text) {
    put_varint(to, field << 3U | 2U);
    put_varint(to, text.size());
    to += text;
}

} // namespace tessera::io::detail

namespace tessera::io {

TESSERA_INLINE std::uint32_t masked_crc(std::string_view bytes) {
    const std::uint32_t c = detail::crc_of<detail::crc_of_castagnoli>(bytes);
    return ((c >> 15U) | (c << 17U)) + 0xa282ead8U;
}

TESSERA_INLINE std::string event_record(std::string_view data) {
    std::string record;
    detail::put_bytes(record, data.size(), 8);
    detail::put_bytes(record, masked_crc(record), 4);
    record += data;
    detail::put_bytes(record, masked_crc(data), 4);
    return record;
}

TESSERA_INLINE std::string first_event(double wall_time) {
    std::string event;
    detail::put_double(event, 1, wall_time);
    detail::put_text(event, 3, "brain.Event:2");
    return event_record(event);
}

TESSERA_INLINE std::string event_of(const scalar& s) {
    std::string value;
    detail::put_text(value, 1, s.tag);
    detail::put_float(value, 2, static_cast<float>(s.value));
    std::string summary;
    detail::put_text(summary, 1, value);
    std::string event;
    detail::put_double(event, 1, s.wall_time);
    detail::put_varint(event, 2U << 3U);
    detail::put_varint(event, static_cast<std::uint64_t>(s.step));
    detail::put_text(event, 5, summary);
    return event_record(event);
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
