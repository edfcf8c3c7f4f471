// SPDX-License-Identifier: Apache-2.0
// Bodies of losses.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/op/losses.hpp"

namespace tessera::torch::detail {

TESSERA_INLINE std::string cross_entropy_line(const shard_text& s, std::string&) {
    const std::string logits = class_dimension(s) == 2 ? s.input() + ".transpose(1, 2)" : s.input();
    return assign(s, "F.cross_entropy(" + logits + ", " + s.input(1) + ", reduction=\"none\")");
}

TESSERA_INLINE std::string cross_entropy_nest(const shard_text& s, int nest, std::string&) {
    const std::string dim = std::to_string(class_dimension(s));
    return nest == 0   ? "rt.largest(" + s.input() + ", " + dim + ")"
           : nest == 1 ? "rt.powers(" + s.input() + ", " + s.intermediate(0) + ", " + dim + ").sum(" + dim + ")"
                       : "rt.class_loss(" + s.input() + ", " + s.input(1) + ", " + s.intermediate(0) + ", " +
                             s.intermediate(1) + ", " + dim + ", " +
                             std::to_string(s.input_region().dim[class_dimension(s)].begin) + ")";
}

} // namespace tessera::torch::detail

#include "tessera/base/end_header.inl"
