// SPDX-License-Identifier: Apache-2.0
// Which memory every task of a plan touches: the ground on which dependencies, memory and verification stand.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/plan.hpp"

namespace tessera {

/// Elements [begin, end) of a tile that owns memory (aliases are resolved), counted in its own order.
struct access {
    int tile = -1;
    interval elements;
    bool write = false;
};

/// True where two accesses must not happen at the same time or in either order.
constexpr bool conflict(const access& a, const access& b) {
    return a.tile == b.tile && (a.write || b.write) && !intersect(a.elements, b.elements).empty();
}

/// Everything that a task touches.
void accesses_of(const plan& p, const task& t, std::vector<access>& out);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/plan/access.inl"
#endif

#include "tessera/base/end_header.inl"
