// SPDX-License-Identifier: Apache-2.0
// Task times that somebody has measured.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/task/compute.hpp"

#include <string>
#include <vector>

namespace tessera::cost {

/// What tells measured tasks apart: everything that their time depends on, compared field by field (a hash could take
/// one for another).
struct task_signature {
    op_attributes attributes;
    pass what = pass::forward;
    int first_nest = 0;
    int last_nest = 0;
    std::uint32_t emits = 0;
    index_t extent[max_loops]{}; ///< of the shard; without an operator the first is the elements of the slice
    int sources = 0;             ///< contributions that are summed, 0 for a pass of an operator
    bool activates = false;      ///< it does the work of a task of maps as well that reads what it writes
    bool fused = false;          ///< its work is done by the task that writes what it reads

    friend bool operator==(const task_signature&, const task_signature&) = default;
};

/// Measured times of tasks, in nanoseconds.
class profile {
public:
    /// Adds a measurement; a later one of the same signature replaces it. Throws tessera::error for a time below 1.
    void set(const task_signature& what, index_t nanoseconds);
    /// The time of a task, or 0 where it has not been measured.
    index_t find(const task_signature& what) const;
    int size() const { return size_; }

private:
    struct entry {
        task_signature what;
        index_t time = 0;
    };
    static std::size_t bucket(const task_signature& s);
    std::vector<std::vector<entry>> buckets_ = std::vector<std::vector<entry>>(1021);
    int size_ = 0;
};

} // namespace tessera::cost

#ifndef TESSERA_COMPILED
#include "tessera/cost/profile.inl"
#endif

#include "tessera/base/end_header.inl"
