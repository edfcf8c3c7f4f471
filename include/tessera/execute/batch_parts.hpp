// SPDX-License-Identifier: Apache-2.0
// Which samples of a batch the devices of a process read.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/processes.hpp"
#include "tessera/plan/plan.hpp"

#include <string>

namespace tessera::detail {

/// Throws tessera::error where a device reads samples of a batch that are not in its process's part: of n samples that of rank r is even_part(n, ranks, r).
/// The same in every process of the group, or with null in the only one.
inline void require_own_samples(const plan& p, const process_group* group, index_t samples) {
    for (const task& t : p.tasks) {
        const int rank = group == nullptr ? 0 : group->owner(t.device);
        const interval own = even_part(samples, group == nullptr ? 1 : group->size(), rank);
        const auto require = [&](int which, const box& region) {
            const interval& read = region.dim[0];
            if (p.tiles[static_cast<std::size_t>(p.root(which))].kind == tile_kind::input && !read.empty() &&
                (read.begin < own.begin || read.end > own.end)) {
                throw error("tessera: device " + std::to_string(t.device) + " reads the samples " +
                            std::to_string(read.begin) + " to " + std::to_string(read.end - 1) +
                            " of a batch, and the part of rank " + std::to_string(rank) + " is " +
                            std::to_string(own.begin) + " to " + std::to_string(own.end - 1) +
                            "; split by samples what reads inputs, or hand in whole batches");
            }
        };
        for (const int r : t.reads) {
            t.kind != task_kind::copy ? require(r, p.tiles[static_cast<std::size_t>(r)].region) : void();
        }
        for (const copy_segment& s : t.segments) {
            require(s.source, s.region);
        }
    }
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
