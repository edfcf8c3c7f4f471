// SPDX-License-Identifier: Apache-2.0
// Machines as JSON, in and out: every number by its name, versioned, and read strictly.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/file.hpp"
#include "tessera/io/files/json_text.hpp"
#include "tessera/machine/device_graph.hpp"

namespace tessera::io {

inline constexpr std::int64_t machine_file_version = 1;
inline constexpr int most_machine_devices = 65'536; ///< of a machine that is read

namespace detail {

/// "gigaflops_matrix_product", or "gigaflops_matrix_product_bf16".
std::string rate_name(int kind, precision math);

/// The member "rates" of a class: every number of its device model by its name.
json rates_json(const device_rates& r);
device_rates rates_from(const json_value& x);

} // namespace detail

/// The machine as a value whose text is a machine file.
json to_json(const device_graph& g);

/// The machine that a document describes; rates in tf32, bf16, fp16 and fp8 may be left out where they are those of fp32. Throws
/// tessera::error, naming line and place, for members that are missing, unknown, of the wrong type or out of range, for
/// another version, and for a graph that require() refuses.
device_graph machine_from(const json_document& document);

device_graph machine_from_text(std::string_view text, const std::string& called = "machine file");
inline device_graph read_machine(const std::string& path) { return machine_from_text(read_file(path), path); }
void write_machine(const std::string& path, const device_graph& g);

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/exchange/machine_file.inl"
#endif

#include "tessera/base/end_header.inl"
