// SPDX-License-Identifier: Apache-2.0
// Bodies of leftovers.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/ranks/leftovers.hpp"

namespace tessera::ranks::detail {

TESSERA_INLINE bool is_left_name(const std::string& name) {
    for (const char* const begin : left_names) {
        if (name.rfind(begin, 0) == 0) {
            return true;
        }
    }
    return false;
}

TESSERA_INLINE void add_left_names(int process, std::vector<std::string>& all) {
    const std::string folder = "/proc/" + std::to_string(process);
    const auto add = [&](const std::string& path) {
        const std::string name = path.rfind(shared_folder, 0) == 0 ? path.substr(std::strlen(shared_folder)) : "";
        if (is_left_name(name)) {
            all.push_back(name);
        }
    };
    const std::string maps = text_of(folder + "/maps"); // "begin-end rw-s offset device inode path"
    for (std::size_t at = maps.find(shared_folder); at != std::string::npos; at = maps.find(shared_folder, at + 1)) {
        add(maps.substr(at, maps.find_first_of(" \n", at) - at));
    }
    for (const int file : numbers_in_folder(folder + "/fd")) {
        char path[256];
        const ssize_t n = ::readlink((folder + "/fd/" + std::to_string(file)).c_str(), path, sizeof path);
        if (n > 0) {
            add(std::string(path, to_size(n)));
        }
    }
}

} // namespace tessera::ranks::detail

namespace tessera::ranks {

TESSERA_INLINE void remove_files_of_ranks() {
    std::vector<std::string> all;
    for (const sibling& s : siblings()) {
        detail::add_left_names(s.process, all);
    }
    for (const std::string& name : all) {
        ::unlink((detail::shared_folder + name).c_str());
    }
}

TESSERA_INLINE void remove_files_of_nobody(const timespec& since) {
    std::vector<std::string> all;
    if (DIR* const folder = ::opendir(detail::shared_folder)) {
        while (const dirent* const e = ::readdir(folder)) {
            struct stat is {};
            if (detail::is_left_name(e->d_name) &&
                ::stat((detail::shared_folder + std::string(e->d_name)).c_str(), &is) == 0 &&
                is.st_uid == ::geteuid() &&
                (is.st_ctim.tv_sec > since.tv_sec ||
                 (is.st_ctim.tv_sec == since.tv_sec && is.st_ctim.tv_nsec >= since.tv_nsec))) {
                all.emplace_back(e->d_name);
            }
        }
        ::closedir(folder);
    }
    if (all.empty()) {
        return;
    }
    std::vector<std::string> kept;
    for (const int process : detail::numbers_in_folder("/proc")) {
        detail::add_left_names(process, kept);
    }
    for (const std::string& name : all) {
        if (std::find(kept.begin(), kept.end(), name) == kept.end()) {
            ::unlink((detail::shared_folder + name).c_str());
        }
    }
}

} // namespace tessera::ranks

#include "tessera/base/end_header.inl"
