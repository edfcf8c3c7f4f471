// SPDX-License-Identifier: Apache-2.0
// What MPI leaves in /dev/shm where a rank ends while memory is being shared: MPICH makes a file, tells the others of
// it, and takes its name away once all have it. Who is killed meanwhile leaves the file, and its memory with it.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/ranks/siblings.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::ranks {

/// What such files are called: MPICH's, and those of UCX below it.
inline constexpr const char* left_names[] = {"mpich_shar_tmp", "ucx_shm_posix"};

namespace detail {

inline constexpr const char* shared_folder = "/dev/shm/";

bool is_left_name(const std::string& name);

/// Adds the names of such files that a process has mapped or open.
void add_left_names(int process, std::vector<std::string>& all);

} // namespace detail

/// Takes away the names of such files that ranks of this launcher on this node have: by a rank that ends all of them.
void remove_files_of_ranks();

/// Takes away such files of this user that have been made since then and that no process has any more: after the ranks
/// have ended.
void remove_files_of_nobody(const timespec& since);

} // namespace tessera::ranks

#ifndef TESSERA_COMPILED
#include "tessera/ranks/leftovers.inl"
#endif

#include "tessera/base/end_header.inl"
