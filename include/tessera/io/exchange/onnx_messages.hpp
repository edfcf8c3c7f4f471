// SPDX-License-Identifier: Apache-2.0
// The messages of ONNX files (github.com/onnx/onnx, onnx.proto3) as plain values (part/onnx/model.hpp); see
// onnx_file.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/protobuf.hpp"
#include "tessera/part/onnx/model.hpp"

namespace tessera::io {

namespace detail {

void read_entry(wire_reader in, std::string& key, std::string& value);

/// A whole number of a text, negative where it is none.
std::int64_t number_in(const std::string& text);

onnx::tensor read_onnx_tensor(wire_reader in);

onnx::attribute read_onnx_attribute(wire_reader in);

onnx::node read_onnx_node(wire_reader in);

onnx::dimension read_onnx_dimension(wire_reader in);

onnx::value_info read_onnx_value(wire_reader in);

onnx::graph read_onnx_graph(wire_reader in);

onnx::model read_onnx_model(wire_reader in);

} // namespace detail

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/exchange/onnx_messages.inl"
#endif

#include "tessera/base/end_header.inl"
