// SPDX-License-Identifier: Apache-2.0
// The parameters of a task that sums or updates several at once, one by one.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/plan.hpp"

#include <algorithm>

namespace tessera {

/// How many parameters a task sums or updates.
inline std::size_t part_count(const task& t) { return t.params().parts.empty() ? 1 : t.params().parts.size(); }

/// Where the tiles that a task writes for one of its parameters begin among all that it writes.
std::size_t first_write_of(const task& t, std::size_t which);

/// True where the parts are consecutive tiles of the task, each with something to read and to write, and nothing but
/// norms is read for all of them.
template <class Tiles>
bool parts_fit(const Tiles& tiles, const task& t) {
    int reads = 0;
    int writes = 0;
    for (const task_parameter& x : t.params().parts) {
        if (x.reads <= reads || x.writes <= writes) {
            return false;
        }
        reads = x.reads;
        writes = x.writes;
    }
    bool fit = t.params().parts.empty() || (to_size(reads) <= t.reads.size() && to_size(writes) == t.writes.size());
    for (std::size_t i = to_size(reads); fit && !t.params().parts.empty() && i < t.reads.size(); ++i) {
        fit = tiles[to_size(t.reads[i])].kind == tile_kind::scalar;
    }
    return fit;
}

/// What a task does for one of its parameters, as a task of that one alone. (It does not say what the task waits for:
/// messages have thousands of parts.)
task part_of(const task& t, std::size_t which);

/// Calls `f` with what a task does for each of its parameters: a task of one parameter. Whatever has no parts comes as
/// it is.
template <class Function>
void for_each_part(const task& t, Function&& f) {
    if (t.params().parts.empty()) {
        f(t);
        return;
    }
    for (std::size_t i = 0; i < t.params().parts.size(); ++i) {
        f(part_of(t, i));
    }
}

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/plan/parts.inl"
#endif

#include "tessera/base/end_header.inl"
