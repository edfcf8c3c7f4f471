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

TESSERA_INLINE std::string text_of_list(const plan& p, int list) {
    return "device " + std::to_string(p.device_of_list(list)) +
           (list < p.devices   ? ""
            : p.is_queue(list) ? "'s queue"
                               : "'s communication");
}

} // namespace tessera

#include "tessera/base/end_header.inl"
