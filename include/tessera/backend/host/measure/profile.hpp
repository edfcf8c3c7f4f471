// SPDX-License-Identifier: Apache-2.0
// Measured times of tasks, by name, kept in memory and, if asked, in a text file: one "seconds name" a line. Processes
// that measure at the same time add to one file.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/file.hpp"
#include "tessera/base/number_text.hpp"
#include "tessera/execute/ranks/processes.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <oneapi/dnnl/dnnl.h>

namespace tessera::host {

inline constexpr std::size_t most_profile_bytes = std::size_t{64} << 20U;

class profile {
public:
    profile() = default;
    /// Reads the file if there is one. A file from another library version or machine is left alone and measured anew.
    /// Throws tessera::error for what is not a profile, so that it is not overwritten, for a folder or a device, and
    /// for more than most_profile_bytes.
    explicit profile(std::string path);
    ~profile() { save(); }
    profile(const profile&) = delete;
    profile& operator=(const profile&) = delete;

    const double* find(const std::string& name) const;
    /// In a group of processes: the longest of all that they add, which all do in one order.
    void add(const std::string& name, double seconds);
    std::size_t size() const { return times_.size(); }

    /// From now on all processes of a group know the same, which is what rank 0 knows and what they add; null: each
    /// what it adds. All call it. Rank 0 alone writes the file.
    void agree_over(process_group* group);

    /// Adds what was measured to the file, which keeps what other processes have added meanwhile.
    void save() noexcept;

private:
    static std::string header();

    struct entry {
        std::string name;
        double seconds = 0;
    };

    typename std::vector<entry>::const_iterator place(const std::string& name) const;

    static std::vector<std::string> lines_of(const std::string& text);

    /// What a profile's text says, by name; nothing where it is damaged or of another library or machine, for that is
    /// measured anew.
    static std::vector<entry> entries_of(const std::string& text, const std::string& path);

    std::string path_;
    std::vector<entry> times_; ///< by name
    bool changed_ = false;
    bool saves_ = true;
    process_group* group_ = nullptr; ///< with which it agrees
};

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/measure/profile.inl"
#endif

#include "tessera/base/end_header.inl"
