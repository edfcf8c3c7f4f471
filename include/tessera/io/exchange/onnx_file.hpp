// SPDX-License-Identifier: Apache-2.0
// Reads ONNX files as plain values (part/onnx/model.hpp), with tensors whose bytes lie in files beside the model.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/file.hpp"
#include "tessera/io/exchange/onnx_messages.hpp"

#include <map>
#include <memory>

namespace tessera::io {

/// A model, and the bytes that its tensors point into.
struct onnx_file {
    onnx::model model;
    std::shared_ptr<const std::string> bytes;
    std::shared_ptr<std::map<std::string, std::string>> external; ///< files of external data, by their locations
};

namespace detail {

/// A file whole. What ONNX's files are allowed to have is 2 GB for the model, and anything for external data.
std::string whole_file(const std::string& path, std::int64_t most);

/// Gives tensors whose bytes lie in other files these bytes.
class external_data {
public:
    /// `folder`: of the model; "" where it was read from no file.
    external_data(onnx_file& file, std::string folder, const std::string& called)
        : file_(file), folder_(std::move(folder)), called_(called) {}

    void find(onnx::tensor& t);

private:
    [[noreturn]] void refuse(const onnx::tensor& t, const std::string& what) const;

    const std::string& file_at(const onnx::tensor& t);

    onnx_file& file_;
    std::string folder_;
    const std::string& called_;
};

/// The model in `bytes`, which are its file.
onnx_file onnx_of(std::string bytes, const std::string& folder, const std::string& called);

} // namespace detail

/// The model of a file. Throws tessera::error where the file cannot be read or is damaged, and for external data that
/// are not there, too short, or outside of the model's folder.
onnx_file read_onnx_file(const std::string& path);
/// The model whose file has these bytes, without external data.
onnx_file onnx_file_from_bytes(std::string bytes, const std::string& called = "ONNX model");

/// Whether a file is taken for an ONNX model: by its name, or by its first bytes, which say the version of the format.
bool is_onnx_file(const std::string& path);

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/exchange/onnx_file.inl"
#endif

#include "tessera/base/end_header.inl"
