// SPDX-License-Identifier: Apache-2.0
// Bodies of shard_text.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/shard_text.hpp"

namespace tessera::torch {

TESSERA_INLINE const shape& shard_text::input_extents(int slot) const {
    return d->operands[operand_of(operand_kind::input, slot)].extents;
}

TESSERA_INLINE std::string shard_text::parameter(int slot) const {
    const int o = operand_of(operand_kind::parameter, slot);
    return o < 0 || (d->operands[o].additive && !first_part) ? "None" : value[to_size(o)];
}

TESSERA_INLINE interval shard_text::range(loop_name loop) const {
    const int l = d->find_loop(loop);
    return l < 0 ? interval{0, 1} : ranges[l];
}

TESSERA_INLINE std::string with_dropout(const shard_text& s, const std::string& x) {
    return "r.dropout(" + literal(s.name) + ", " + x + (s.number > 0 ? ", " + std::to_string(s.number) : "") + ")";
}

} // namespace tessera::torch

#include "tessera/base/end_header.inl"
