// SPDX-License-Identifier: Apache-2.0
// Scalars as TensorBoard reads them: the record format of event files, and their encoding.
//
// A file is a row of records (TFRecord framing). All numbers are little-endian:
//
//     bytes 0 to 7     n, the length of the data
//     bytes 8 to 11    masked CRC-32C of bytes 0 to 7
//     n bytes          data
//     4 bytes          masked CRC-32C of the data
//
// A CRC c is masked as ((c >> 15) | (c << 17)) + 0xa282ead8, modulo 2^32, so that a checksum of data that hold
// checksums is a good one. The data are one Event in the wire format of protocol buffers; fields in the order of their
// numbers, those that are zero too:
//
//     Event     1  wall_time     double   seconds since 1970-01-01 00:00 UTC
//               2  step          int64
//               3  file_version  string   "brain.Event:2"; of the first record alone, which has but the time besides
//               5  summary       Summary
//     Summary   1  value         Value    one for each scalar
//     Value     1  tag           string
//               2  simple_value  float
//
// Wire format: a field begins with the varint (number << 3 | type); type 0 is a varint (7 bits a byte, the lowest
// first, the top bit set in all but the last byte), 1 is 8 bytes, 5 is 4 bytes, 2 is a varint n and n bytes. (Names and
// numbers of fields as recalled of TensorFlow's event.proto and summary.proto; files were read by TensorBoard.)
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/crc32.hpp"

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::io {

/// One number of a training: `value` of `tag` after `step` steps.
struct scalar {
    std::string tag{};     ///< such as "loss" or "valid/accuracy"; not empty
    std::int64_t step = 0; ///< steps taken
    double value = 0;      ///< event files hold it as a float; NaN and infinities are kept as they are
    double wall_time = 0;  ///< seconds since 1970-01-01 00:00 UTC
};

namespace detail {

/// The lowest bytes of a number, the lowest first.
void put_bytes(std::string& to, std::uint64_t number, int bytes);
void put_varint(std::string& to, std::uint64_t number);
void put_double(std::string& to, unsigned field, double value);
void put_float(std::string& to, unsigned field, float value);
void put_text(std::string& to, unsigned field, std::string_view text);

} // namespace detail

/// CRC-32C of the bytes, masked.
std::uint32_t masked_crc(std::string_view bytes);

/// Data as a record of an event file.
std::string event_record(std::string_view data);

/// The record that every event file begins with.
std::string first_event(double wall_time);

/// The record of a scalar.
std::string event_of(const scalar& s);

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/reports/event_file.inl"
#endif

#include "tessera/base/end_header.inl"
