// SPDX-License-Identifier: Apache-2.0
// The other processes that the launcher has started on this node, as /proc knows them: who keeps MPI's start from ending, of which MPI itself says nothing.
#pragma once
#include "tessera/base/begin_header.inl"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <dirent.h>
#include <unistd.h>

namespace tessera::ranks {

/// Variables in which launchers say which rank a process is: Open MPI's, those of MPICH's Hydra, Slurm's.
inline constexpr const char* rank_variables[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};
/// And of how many ranks of its node it is one.
inline constexpr const char* local_size_variables[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};

/// What the watching thread of a process is called while MPI starts, so that others can tell that it has come so far.
inline constexpr const char* start_name = "ts-mpi-start";

namespace detail {

inline std::string text_of(const std::string& path) {
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

/// The number that one of these variables has in the environment of a process ("NAME=value", each with a zero behind it), or -1.
template <std::size_t N>
int number_in(const std::string& environment, const char* const (&names)[N]) {
    for (const char* const name : names) {
        const std::string start = std::string(1, '\0') + name + "=";
        const std::size_t at = (std::string(1, '\0') + environment).find(start);
        if (at != std::string::npos) {
            return std::atoi(environment.c_str() + at + start.size() - 1);
        }
    }
    return -1;
}

/// The name of the file that a process runs, without its folder; empty where the system does not say.
inline std::string program_of(int process) {
    char path[4096];
    const ssize_t n = ::readlink(("/proc/" + std::to_string(process) + "/exe").c_str(), path, sizeof path);
    const std::string all(path, n > 0 ? static_cast<std::size_t>(n) : 0);
    return all.substr(all.rfind('/') + 1);
}

/// Numeric names in a folder of /proc.
inline std::vector<int> numbers_in_folder(const std::string& path) {
    std::vector<int> all;
    DIR* const folder = ::opendir(path.c_str());
    while (const dirent* const e = folder != nullptr ? ::readdir(folder) : nullptr) {
        e->d_name[0] >= '0' && e->d_name[0] <= '9' ? all.push_back(std::atoi(e->d_name)) : void();
    }
    folder != nullptr ? void(::closedir(folder)) : void();
    return all;
}

} // namespace detail

/// A process that another has started, and that has not ended.
struct child {
    int process = 0;
    bool stopped = false; ///< by a signal or a debugger
};

inline std::vector<child> children_of(int parent) {
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

/// Which rank a process is, by what its launcher has told it, or -1.
inline int rank_of(int process) {
    return detail::number_in(detail::text_of("/proc/" + std::to_string(process) + "/environ"), rank_variables);
}

/// A rank on this node.
struct sibling {
    int rank = 0;
    int process = 0;
    bool stopped = false; ///< by a signal or a debugger
    bool starts = false;  ///< waits for MPI to start
};

/// This process and the others of its launcher on this node, by rank; none without a launcher that says ranks.
inline std::vector<sibling> siblings() {
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

/// Of the ranks of this node those for which the others wait: "rank 2 (process 71) is stopped, rank 3 (process 72) has not come so far", or empty
/// where there is none. `expected`: ranks of this node, or -1; `starting`: they wait for MPI to start.
inline std::string who_is_waited_for(const std::vector<sibling>& here, int expected, bool starting) {
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
inline std::string who_is_waited_for(bool starting) {
    const int expected = detail::number_in(detail::text_of("/proc/self/environ"), local_size_variables);
    return who_is_waited_for(siblings(), expected, starting);
}

} // namespace tessera::ranks

#include "tessera/base/end_header.inl"
