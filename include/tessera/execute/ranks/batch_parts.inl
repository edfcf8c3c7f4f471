// SPDX-License-Identifier: Apache-2.0
// Bodies of batch_parts.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/ranks/batch_parts.hpp"

namespace tessera::detail {

TESSERA_INLINE void require_own_samples(const plan& p, const process_group* group, index_t samples) {
    for (const task& t : p.tasks) {
        const int rank = group == nullptr ? 0 : group->owner(t.device);
        const interval own = even_part(samples, group == nullptr ? 1 : group->size(), rank);
        const auto require = [&](int which, const box& region) {
            const interval& read = region.dim[0];
            if (p.tiles[to_size(p.root(which))].kind == tile_kind::input && !read.empty() &&
                (read.begin < own.begin || read.end > own.end)) {
                throw error("tessera: device " + std::to_string(t.device) + " reads the samples " +
                            std::to_string(read.begin) + " to " + std::to_string(read.end - 1) +
                            " of a batch, and the part of rank " + std::to_string(rank) + " is " +
                            std::to_string(own.begin) + " to " + std::to_string(own.end - 1) +
                            "; split by samples what reads inputs, or hand in whole batches");
            }
        };
        for (const int r : t.reads) {
            if (t.kind() != task_kind::copy) {
                require(r, p.tiles[to_size(r)].region);
            }
        }
        for (const copy_segment& s : t.copy().segments) {
            require(s.source, s.region);
        }
    }
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
