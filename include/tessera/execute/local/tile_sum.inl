// SPDX-License-Identifier: Apache-2.0
// Bodies of tile_sum.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/tile_sum.hpp"

namespace tessera {

TESSERA_INLINE tile_sum::tile_sum(const plan& p, const task& t, const addresses& where)
    : to_(where[t.writes[0]]), elements_(p.tiles[to_size(t.writes[0])].elements),
      type_(p.tiles[to_size(t.writes[0])].type) {
    for (int r : t.reads) {
        from_.push_back(where[r]);
    }
}

TESSERA_INLINE void tile_sum::run() const {
    type_ == element::f64 ? add<double>() : type_ == element::bf16 ? add<bfloat16>() : add<float>();
}

} // namespace tessera

#include "tessera/base/end_header.inl"
