// SPDX-License-Identifier: Apache-2.0
// Bodies of verify.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/verify.hpp"

namespace tessera {

TESSERA_INLINE verdict verify(const graph_view& g, const plan& p, index_t device_memory, const optimizer* made_for) {
    return detail::verifier(g, p).run(device_memory, made_for);
}

TESSERA_INLINE void require_sound(const graph_view& g, const plan& p, index_t device_memory,
                                  const optimizer* made_for) {
    if (const verdict v = verify(g, p, device_memory, made_for)) {
        throw error(v.text);
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
