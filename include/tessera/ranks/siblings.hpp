// SPDX-License-Identifier: Apache-2.0
// The other processes that the launcher has started on this node, as /proc knows them: who keeps MPI's start from
// ending, of which MPI itself says nothing.
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

std::string text_of(const std::string& path);

/// The number that one of these variables has in the environment of a process ("NAME=value", each with a zero behind
/// it), or -1.
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
std::string program_of(int process);

/// Numeric names in a folder of /proc.
std::vector<int> numbers_in_folder(const std::string& path);

} // namespace detail

/// A process that another has started, and that has not ended.
struct child {
    int process = 0;
    bool stopped = false; ///< by a signal or a debugger
};

std::vector<child> children_of(int parent);

/// Which rank a process is, by what its launcher has told it, or -1.
int rank_of(int process);

/// A rank on this node.
struct sibling {
    int rank = 0;
    int process = 0;
    bool stopped = false; ///< by a signal or a debugger
    bool starts = false;  ///< waits for MPI to start
};

/// This process and the others of its launcher on this node, by rank; none without a launcher that says ranks.
std::vector<sibling> siblings();

/// Of the ranks of this node those for which the others wait: "rank 2 (process 71) is stopped, rank 3 (process 72) has
/// not come so far", or empty where there is none. `expected`: ranks of this node, or -1; `starting`: they wait for MPI
/// to start.
std::string who_is_waited_for(const std::vector<sibling>& here, int expected, bool starting);
std::string who_is_waited_for(bool starting);

} // namespace tessera::ranks

#ifndef TESSERA_COMPILED
#include "tessera/ranks/siblings.inl"
#endif

#include "tessera/base/end_header.inl"
