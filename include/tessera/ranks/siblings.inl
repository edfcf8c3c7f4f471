// SPDX-License-Identifier: Apache-2.0
// Bodies of siblings.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/ranks/siblings.hpp"

namespace tessera::ranks::detail {

TESSERA_INLINE std::string text_of(const std::string& path) {
    std::string text;
    if (std::FILE* const file = std::fopen(path.c_str(), "rb")) {
        char part[4096];
        for (std::size_t n = 0; (n = std::fread(part, 1, sizeof part, file)) > 0;) {
            text.append(part, n);
        }
        std::fclose(file);
    }
    return text;
}

TESSERA_INLINE std::string program_of(int process) {
    char path[4096];
    const ssize_t n = ::readlink(("/proc/" + std::to_string(process) + "/exe").c_str(), path, sizeof path);
    const std::string all(path, n > 0 ? to_size(n) : 0);
    return all.substr(all.rfind('/') + 1);
}

TESSERA_INLINE std::vector<int> numbers_in_folder(const std::string& path) {
    std::vector<int> all;
    DIR* const folder = ::opendir(path.c_str());
    while (const dirent* const e = folder != nullptr ? ::readdir(folder) : nullptr) {
        if (e->d_name[0] >= '0' && e->d_name[0] <= '9') {
            all.push_back(std::atoi(e->d_name));
        }
    }
    if (folder != nullptr) {
        ::closedir(folder);
    }
    return all;
}

} // namespace tessera::ranks::detail

namespace tessera::ranks {

TESSERA_INLINE std::vector<child> children_of(int parent) {
    std::vector<child> all;
    for (const int process : detail::numbers_in_folder("/proc")) {
        const std::string stat = detail::text_of("/proc/" + std::to_string(process) + "/stat"); // "17 (name) S 16 ..."
        const std::size_t name = stat.rfind(')');
        if (name == std::string::npos || name + 4 >= stat.size()) {
            continue;
        }
        const char state = stat[name + 2];
        if (std::atoi(stat.c_str() + name + 4) == parent && state != 'Z') {
            all.push_back({process, state == 'T' || state == 't'});
        }
    }
    return all;
}

TESSERA_INLINE int rank_of(int process) {
    return detail::number_in(detail::text_of("/proc/" + std::to_string(process) + "/environ"), rank_variables);
}

TESSERA_INLINE std::vector<sibling> siblings() {
    std::vector<sibling> all;
    for (const child& c : children_of(::getppid())) {
        sibling s{rank_of(c.process), c.process, c.stopped, false};
        if (s.rank < 0) {
            continue;
        }
        const std::string tasks = "/proc/" + std::to_string(c.process) + "/task";
        for (const int thread : detail::numbers_in_folder(tasks)) {
            s.starts = s.starts || detail::text_of(tasks + "/" + std::to_string(thread) + "/comm") ==
                                       std::string(start_name) + "\n";
        }
        all.push_back(s);
    }
    std::sort(all.begin(), all.end(), [](const sibling& a, const sibling& b) { return a.rank < b.rank; });
    return all;
}

TESSERA_INLINE std::string who_is_waited_for(const std::vector<sibling>& here, int expected, bool starting) {
    std::string text;
    const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
    for (const sibling& s : here) {
        const std::string who = "rank " + std::to_string(s.rank) + " (process " + std::to_string(s.process) + ")";
        if (s.stopped) {
            add(who + " is stopped");
        } else if (starting && !s.starts) {
            add(who + " has not come so far");
        }
    }
    const auto missing = expected - static_cast<int>(here.size());
    if (!here.empty() && missing > 0) {
        add(std::to_string(missing) + " of the " + std::to_string(expected) + " ranks of this node " +
            (missing == 1 ? "is" : "are") + " not there");
    }
    return text;
}

TESSERA_INLINE std::string who_is_waited_for(bool starting) {
    const int expected = detail::number_in(detail::text_of("/proc/self/environ"), local_size_variables);
    return who_is_waited_for(siblings(), expected, starting);
}

} // namespace tessera::ranks

#include "tessera/base/end_header.inl"
