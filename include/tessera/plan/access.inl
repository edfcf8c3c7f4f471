// SPDX-License-Identifier: Apache-2.0
// Bodies of access.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/access.hpp"

namespace tessera {

TESSERA_INLINE void accesses_of(const plan& p, const task& t, std::vector<access>& out) {
    out.clear();
    const auto add = [&](int which, bool write, bool sliced) {
        const int root = p.root(which);
        const tile& x = p.tiles[to_size(root)];
        const bool part = sliced && x.type == element::f32 && x.kind != tile_kind::optimizer_state;
        const interval elements = part ? slice_of(x, t) : interval{0, x.elements};
        if (!elements.empty()) { // there may be more slices than elements
            out.push_back({root, elements, write});
        }
    };
    const bool sliced = t.kind() == task_kind::update || t.kind() == task_kind::reduce ||
                        t.kind() == task_kind::average || t.kind() == task_kind::norm;
    const bool steps = t.kind() != task_kind::norm; // which reads the state
    for (int r : t.reads) {
        add(r, false, sliced);
    }
    for (int w : t.writes) {
        add(w, true, sliced);
    }
    if (t.params().state >= 0) {
        add(t.params().state, steps, false);
    }
    for (const task_parameter& x : t.params().parts) {
        if (x.state >= 0) {
            add(x.state, steps, false);
        }
    }
    if (t.scratch >= 0) {
        add(t.scratch, true, false);
    }
    if (t.nonfinite_count >= 0) {
        add(t.nonfinite_count, t.kind() == task_kind::compute && t.what == pass::forward, false);
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
