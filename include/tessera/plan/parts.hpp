// SPDX-License-Identifier: Apache-2.0
// The parameters of a task that sums or updates several at once, one by one.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/plan.hpp"

#include <algorithm>

namespace tessera {

/// How many parameters a task sums or updates.
inline std::size_t part_count(const task& t) { return t.parts.empty() ? 1 : t.parts.size(); }

/// Where the tiles that a task writes for one of its parameters begin among all that it writes.
inline std::size_t first_write_of(const task& t, std::size_t which) {
    return which == 0 ? 0 : static_cast<std::size_t>(t.parts[which - 1].writes);
}

/// True where the parts are consecutive tiles of the task, each with something to read and to write, and nothing but norms is read for all of them.
template <class Tiles>
bool parts_fit(const Tiles& tiles, const task& t) {
    int reads = 0;
    int writes = 0;
    for (const task_part& x : t.parts) {
        if (x.reads <= reads || x.writes <= writes) {
            return false;
        }
        reads = x.reads;
        writes = x.writes;
    }
    bool fit = t.parts.empty() || (static_cast<std::size_t>(reads) <= t.reads.size() &&
                                   static_cast<std::size_t>(writes) == t.writes.size());
    for (std::size_t i = static_cast<std::size_t>(reads); fit && !t.parts.empty() && i < t.reads.size(); ++i) {
        fit = tiles[static_cast<std::size_t>(t.reads[i])].kind == tile_kind::scalar;
    }
    return fit;
}

/// What a task does for one of its parameters, as a task of that one alone. (It does not say what the task waits for: messages have thousands of parts.)
inline task part_of(const task& t, std::size_t which) {
    const task_part& x = t.parts[which];
    const int first_read = which == 0 ? 0 : t.parts[which - 1].reads;
    task one;
    one.kind = t.kind;
    one.op = t.op;
    one.what = t.what;
    one.shard_number = t.shard_number;
    one.micro_batch = t.micro_batch;
    one.step = t.step;
    one.device = t.device;
    one.stream = t.stream;
    one.reads.assign(t.reads.begin() + first_read, t.reads.begin() + x.reads);
    one.reads.insert(one.reads.end(), t.reads.begin() + t.parts.back().reads, t.reads.end());
    one.writes.assign(t.writes.begin() + static_cast<std::ptrdiff_t>(first_write_of(t, which)),
                      t.writes.begin() + x.writes);
    one.parameter = x.parameter;
    one.slice = t.slice;
    one.slices = t.slices;
    one.state = x.state;
    for (const int n : t.norms) { // a reduction's own, or those that all updates read
        const bool own = std::find(one.writes.begin(), one.writes.end(), n) != one.writes.end();
        if (own || std::find(one.reads.begin(), one.reads.end(), n) != one.reads.end()) {
            one.norms.push_back(n);
        }
    }
    for (const int n : t.layer_norms) {
        const std::vector<int>& own = t.kind == task_kind::norm ? one.writes : one.reads;
        std::find(own.begin(), own.end(), n) != own.end() ? one.layer_norms.push_back(n) : void();
    }
    one.counted_elsewhere = t.counted_elsewhere;
    one.scale = t.scale;
    one.how = t.how;
    one.message = t.message;
    one.late = t.late;
    one.beside = t.beside;
    one.implementation = t.implementation;
    one.scratch = t.scratch;
    one.workspace = t.workspace;
    one.priority = t.priority;
    one.position = t.position;
    return one;
}

/// Calls `f` with what a task does for each of its parameters: a task of one parameter. Whatever has no parts comes as it is.
template <class Function>
void for_each_part(const task& t, Function&& f) {
    if (t.parts.empty()) {
        f(t);
        return;
    }
    for (std::size_t i = 0; i < t.parts.size(); ++i) {
        f(part_of(t, i));
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
