// SPDX-License-Identifier: Apache-2.0
// Which files hold somebody's weights: one, all of a folder, or those that an index names (Hugging Face's
// model.safetensors.index.json).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/checkpoint_files.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <dirent.h>

namespace tessera::io::detail {

struct weight_files {
    std::vector<std::string> paths;
    std::map<std::string, std::string> index{}; ///< tensors by name: the file that has each; none without an index
    std::string index_path{};

    /// Throws tessera::error where the files do not have what the index says.
    void require_index(const tensor_files& all) const;
};

weight_files indexed_files(const std::string& path);

/// A file, an index, or a folder: of one with an index what that names, else all its safetensors files.
weight_files files_of_weights(const std::string& path);

} // namespace tessera::io::detail

#ifndef TESSERA_COMPILED
#include "tessera/io/files/weight_files.inl"
#endif

#include "tessera/base/end_header.inl"
