// SPDX-License-Identifier: Apache-2.0
// Task times that somebody has measured.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/task/compute.hpp"

#include <string>
#include <vector>

namespace tessera::cost {

/// What tells measured tasks apart: everything that their time depends on, compared field by field (a hash could take one for another).
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
    void set(const task_signature& what, index_t nanoseconds) {
        if (nanoseconds < 1) {
            throw error("tessera: a profile's time is " + std::to_string(nanoseconds) + " ns; give at least 1");
        }
        std::vector<entry>& list = buckets_[bucket(what)];
        for (entry& e : list) {
            if (e.what == what) {
                e.time = nanoseconds;
                return;
            }
        }
        list.push_back({what, nanoseconds});
        ++size_;
    }
    /// The time of a task, or 0 where it has not been measured.
    index_t find(const task_signature& what) const {
        for (const entry& e : buckets_[bucket(what)]) {
            if (e.what == what) {
                return e.time;
            }
        }
        return 0;
    }
    int size() const { return size_; }

private:
    struct entry {
        task_signature what;
        index_t time = 0;
    };
    static std::size_t bucket(const task_signature& s) {
        auto h = static_cast<std::uint64_t>(s.what);
        for (const char* c = to_text(s.attributes.kind); *c != 0; ++c) { // its name: no address enters a hash
            h = h * 31 + static_cast<unsigned char>(*c);
        }
        for (index_t e : s.extent) {
            h = (h ^ static_cast<std::uint64_t>(e)) * 0x100000001b3ULL;
        }
        return static_cast<std::size_t>((h >> 7U) % 1021);
    }
    std::vector<std::vector<entry>> buckets_ = std::vector<std::vector<entry>>(1021);
    int size_ = 0;
};

} // namespace tessera::cost

#include "tessera/base/end_header.inl"
