// SPDX-License-Identifier: Apache-2.0
// Bodies of nest.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/op/nest.hpp"

namespace tessera::reference::detail {

TESSERA_INLINE bool adds_to_gradient(const compute_call& c, const nests::nest_pass& pass) {
    const description& d = *c.d;
    const std::uint32_t elsewhere = gradient_reduced_loops(d, pass.target) & ~pass.loops;
    for (int l = 0; l < d.loops.size(); ++l) {
        if (has(elsewhere, l) && c.ranges[l].begin > 0) {
            return false;
        }
    }
    return true;
}

} // namespace tessera::reference::detail

#include "tessera/base/end_header.inl"
