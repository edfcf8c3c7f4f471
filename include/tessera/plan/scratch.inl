// SPDX-License-Identifier: Apache-2.0
// Bodies of scratch.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/scratch.hpp"

namespace tessera {

TESSERA_INLINE int add_scratch(plan& p, int device, index_t bytes) {
    tile x;
    x.kind = tile_kind::scratch;
    x.device = device;
    x.region = whole(make_shape((bytes + 3) / 4));
    x.elements = (bytes + 3) / 4;
    x.bytes = bytes;
    p.tiles.push_back(x);
    return static_cast<int>(p.tiles.size()) - 1;
}

TESSERA_INLINE void bind_by_model(const graph_view& g, plan& p) {
    std::vector<description> known;
    known.reserve(to_size(g.op_count));
    for (int op = 0; op < g.op_count; ++op) {
        known.push_back(g.describe(op));
    }
    for (task& t : p.tasks) {
        const bool computes = t.kind() == task_kind::compute && t.what != pass::update;
        const index_t bytes = computes ? cost::workspace_bytes(known[to_size(t.op)], t.compute().ranges) : index_t{0};
        if (bytes > 0) {
            t.scratch = add_scratch(p, t.device, bytes);
        }
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
