// SPDX-License-Identifier: Apache-2.0
// Bodies of finish.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/finish.hpp"

namespace tessera {

TESSERA_INLINE std::uint64_t hash_of(const plan& p) {
    const plan usual_plan;
    const tile usual_tile;
    const common_fields usual_task;
    detail::plan_hasher hash;
    hash.unusual(p, usual_plan);
    for (const tile& t : p.tiles) {
        hash.unusual(t, usual_tile);
    }
    for (const task& t : p.tasks) {
        hash.add(t.kind());
        hash.unusual<common_fields>(t, usual_task);
        t.with_own_fields([&](const auto& own) {
            static const std::remove_cvref_t<decltype(own)> usual;
            hash.unusual(own, usual);
        });
    }
    return hash.value();
}

TESSERA_INLINE void complete(plan& p) {
    plan_memory(p);
    set_waits(p);
}

TESSERA_INLINE void finish(const graph_view& g, plan& p, index_t device_memory, const optimizer* made_for) {
    complete(p);
    require_sound(g, p, device_memory, made_for);
    p.hash = hash_of(p);
}

} // namespace tessera

#include "tessera/base/end_header.inl"
