// SPDX-License-Identifier: Apache-2.0
// Bodies of weight_files.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/weight_files.hpp"

namespace tessera::io::detail {

TESSERA_INLINE void weight_files::require_index(const tensor_files& all) const {
    for (const auto& [name, file] : index) {
        if (all.extents_of(name) == nullptr) {
            // NOLINTNEXTLINE(performance-inefficient-string-concatenation): once
            throw error("tessera: '" + index_path + "' says that " + name + " is in '" + file +
                        "', which has no such tensor; the files are not of one model, fetch them again");
        }
    }
}

TESSERA_INLINE weight_files indexed_files(const std::string& path) {
    constexpr std::size_t most = std::size_t{1} << 26U; // names of a million tensors
    weight_files found;
    found.index_path = path;
    const json_document document(files::read(path, most), path);
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
    const json_value* map = nullptr;
    const auto members = document.root().members();
    for (const auto& [key, value] : members) {
        map = key == "weight_map" ? &value : map;
    }
    if (map == nullptr) {
        throw error("tessera: '" + path +
                    "' has no weight_map; an index of safetensors files says there which has each tensor");
    }
    for (const auto& [name, value] : map->members()) {
        const std::string& file = value.text();
        if (file.empty() || file.find('/') != std::string::npos || file.find('\0') != std::string::npos) {
            value.refuse("is '" + file + "', but must be a file beside the index");
        }
        found.index[name] = file;
        found.paths.push_back(folder);
        found.paths.back().append("/").append(file);
    }
    std::sort(found.paths.begin(), found.paths.end());
    found.paths.erase(std::unique(found.paths.begin(), found.paths.end()), found.paths.end());
    for (const std::string& one : found.paths) {
        if (::access(one.c_str(), R_OK) != 0) {
            // NOLINTNEXTLINE(performance-inefficient-string-concatenation): once
            throw error("tessera: '" + path + "' names '" + one +
                        "', which is not there or cannot be read; fetch all files of the model");
        }
    }
    if (found.paths.empty()) {
        throw error("tessera: '" + path + "' names no files");
    }
    return found;
}

TESSERA_INLINE weight_files files_of_weights(const std::string& path) {
    constexpr std::string_view index = ".safetensors.index.json";
    DIR* const folder = ::opendir(path.c_str());
    if (folder == nullptr) {
        return path.ends_with(index) ? indexed_files(path) : weight_files{{path}};
    }
    std::vector<std::string> all;
    std::vector<std::string> indices;
    while (const dirent* const e = ::readdir(folder)) {
        const std::string name = e->d_name;
        std::vector<std::string>* const to = name.ends_with(".safetensors") ? &all
                                             : name.ends_with(index)        ? &indices
                                                                            : nullptr;
        if (to != nullptr) {
            to->push_back(path);
            to->back().append("/").append(name);
        }
    }
    ::closedir(folder);
    if (indices.size() == 1) {
        return indexed_files(indices[0]);
    }
    std::sort(all.begin(), all.end());
    std::sort(indices.begin(), indices.end());
    if (indices.size() > 1) {
        throw error("tessera: the folder '" + path + "' has " + std::to_string(indices.size()) +
                    " indices of weights; name one, such as '" + indices[0] + "'");
    }
    if (all.empty()) {
        throw error("tessera: the folder '" + path + "' has no files of weights; name one that has *.safetensors");
    }
    return {all};
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
