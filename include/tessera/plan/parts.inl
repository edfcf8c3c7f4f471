// SPDX-License-Identifier: Apache-2.0
// Bodies of parts.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/parts.hpp"

namespace tessera {

TESSERA_INLINE std::size_t first_write_of(const task& t, std::size_t which) {
    return which == 0 ? 0 : static_cast<std::size_t>(t.parts[which - 1].writes);
}

TESSERA_INLINE task part_of(const task& t, std::size_t which) {
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
        if (std::find(own.begin(), own.end(), n) != own.end()) {
            one.layer_norms.push_back(n);
        }
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

} // namespace tessera

#include "tessera/base/end_header.inl"
