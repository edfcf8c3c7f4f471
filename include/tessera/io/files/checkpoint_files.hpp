// SPDX-License-Identifier: Apache-2.0
// Several safetensors files together, which hold tensors whole or as boxes: as one set of tensors, read part by part.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/state_pieces.hpp"
#include "tessera/io/files/safetensors.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace tessera::io::detail {

inline std::vector<std::int64_t> extents_in_file(const shape& s) { return {s.extent, s.extent + s.rank}; }

/// "[10, 1, 5, 5]"
std::string shown(const std::vector<std::int64_t>& extents);

class tensor_files {
public:
    /// Throws tessera::error where a file is no safetensors file, or the boxes of a tensor overlap or leave a hole.
    /// `called`: what messages call all of them.
    tensor_files(const std::string& called, const std::vector<std::string>& paths);

    const std::string& called() const { return called_; }
    std::vector<std::string> names() const;
    /// Null where there is none of that name.
    const std::vector<std::int64_t>* extents_of(const std::string& name) const;

    /// The type of a tensor that cannot be read as numbers, or null.
    const std::string* other_type_of(const std::string& name) const;

    /// Hands a tensor, of at most max_rank dimensions, to a sink that wants it: in parts that stay in the cache, each
    /// read once.
    void pour(const std::string& name, state_sink& to) const;

private:
    struct stored_box {
        const safetensors_file* file = nullptr;
        const safetensors_file::place* place = nullptr;
    };
    struct tensor {
        std::vector<std::int64_t> extents;
        std::vector<stored_box> boxes;
    };

    [[noreturn]] void refuse(const std::string& name, const std::string& what) const;

    void require_cover(const std::string& name, const tensor& t) const;
    static bool overlap(const safetensors_file::place& a, const safetensors_file::place& b);

    std::string called_;
    std::deque<safetensors_file> files_;
    std::map<std::string, tensor> tensors_;
};

} // namespace tessera::io::detail

#ifndef TESSERA_COMPILED
#include "tessera/io/files/checkpoint_files.inl"
#endif

#include "tessera/base/end_header.inl"
