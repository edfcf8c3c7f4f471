// SPDX-License-Identifier: Apache-2.0
// Bodies of isolate.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/isolate.hpp"

#include <utility>

namespace tessera {

TESSERA_INLINE plan isolate(const plan& p, int index) {
    if (index < 0 || to_size(index) >= p.tasks.size()) {
        throw error("tessera: a plan of " + std::to_string(p.tasks.size()) + " tasks has no task " +
                    std::to_string(index) + "; they count from 0");
    }
    plan q;
    q.kind = p.kind;
    q.devices = p.devices;
    q.micro_batches = p.micro_batches;
    q.steps_per_plan = p.steps_per_plan;
    q.alignment = p.alignment;
    q.compress = p.compress;
    q.arena_bytes.assign(to_size(p.devices), 0);
    q.persistent_bytes.assign(to_size(p.devices), 0);
    std::vector<int> number(p.tiles.size(), -1);
    const auto take = [&](int t, const auto& self) -> int {
        if (t < 0) {
            return -1;
        }
        int& mine = number[to_size(t)];
        if (mine >= 0) {
            return mine;
        }
        tile x = p.tiles[to_size(t)];
        x.alias = self(x.alias, self);
        x.origin = -1;
        if (x.alias >= 0) {
            x.offset = q.tiles[to_size(x.alias)].offset;
        } else if (x.device >= 0) {
            std::vector<index_t>* const arenas[arenas_of_device] = {&q.arena_bytes, &q.persistent_bytes, &q.host_bytes,
                                                                    &q.host_persistent_bytes};
            std::vector<index_t>& bytes = *arenas[static_cast<int>(arena_of(x))];
            bytes.resize(to_size(p.devices), 0);
            index_t& end = bytes[to_size(x.device)];
            x.offset = end;
            end += detail::align(x.bytes > 0 ? x.bytes : 1, p.alignment);
        }
        mine = static_cast<int>(q.tiles.size());
        q.tiles.push_back(x);
        return mine;
    };
    task t = p.tasks[to_size(index)];
    for_each_tile(t, [&](int& tile, const plan_field&) { tile = take(tile, take); });
    t.waits.clear();
    t.position = 0;
    t.step = 0; // it is run by itself
    t.stream = task_stream::compute;
    q.order.resize(to_size(p.devices));
    q.order[to_size(t.device)].push_back(0);
    q.tasks.push_back(std::move(t));
    return q;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
