// SPDX-License-Identifier: Apache-2.0
// Bodies of plan.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/plan.hpp"

namespace tessera {

TESSERA_INLINE int plan::root(int t) const {
    while (tiles[to_size(t)].alias >= 0) {
        t = tiles[to_size(t)].alias;
    }
    return t;
}

TESSERA_INLINE index_t arena_size(const plan& p, const tile& t) {
    const arena_kind a = arena_of(t);
    const std::vector<index_t>& of = a == arena_kind::host              ? p.host_bytes
                                     : a == arena_kind::host_persistent ? p.host_persistent_bytes
                                     : a == arena_kind::persistent      ? p.persistent_bytes
                                                                        : p.arena_bytes;
    return to_size(t.device) < of.size() ? of[to_size(t.device)] : 0;
}

TESSERA_INLINE std::string text_of_list(const plan& p, int list) {
    return "device " + std::to_string(p.device_of_list(list)) +
           (list < p.devices   ? ""
            : p.is_queue(list) ? "'s queue"
                               : "'s communication");
}

} // namespace tessera

#include "tessera/base/end_header.inl"
