// SPDX-License-Identifier: Apache-2.0
// Plans by hand of what two devices exchange.
#pragma once

#include "tessera/plan/finish.hpp"

namespace benchmarks {

/// A tile of a device, alone in its arena.
inline tessera::tile tile_of(tessera::tile_kind kind, int device, int part, tessera::index_t elements) {
    tessera::tile t;
    t.kind = kind;
    t.tensor = 0;
    t.device = device;
    t.summand = part;
    t.region = tessera::whole(tessera::make_shape(elements));
    t.elements = elements;
    t.bytes = elements * 4;
    t.offset = 0;
    return t;
}

/// Two devices with a contribution (tiles 0 and 2) and a copy of a parameter (1 and 3) each: each device sums its half
/// of both contributions, and steps both copies by it, or, of a plan that reduces, writes it to both contributions.
inline tessera::plan summing_plan(tessera::index_t elements, bool reduces = false) {
    using tessera::tile_kind;
    tessera::plan p;
    p.devices = 2;
    for (int device = 0; device < 2; ++device) {
        p.tiles.push_back(tile_of(tile_kind::parameter_gradient, device, device, elements));
        p.tiles.push_back(tile_of(tile_kind::parameter, device, -1, elements));
        p.arena_bytes.push_back(elements * 4);
        p.persistent_bytes.push_back(elements * 4);
        tessera::task t;
        t.become(reduces ? tessera::task_kind::reduce : tessera::task_kind::update);
        t.device = device;
        t.mutable_params().parameter = 0;
        t.mutable_params().slice = device;
        t.mutable_params().slices = 2;
        t.reads = {0, 2};
        t.writes = reduces ? std::vector<int>{0, 2} : std::vector<int>{1, 3};
        p.tasks.push_back(t);
    }
    tessera::number_tasks(p);
    return p;
}

} // namespace benchmarks
