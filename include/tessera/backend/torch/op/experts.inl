// SPDX-License-Identifier: Apache-2.0
// Bodies of experts.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/op/experts.hpp"

namespace tessera::torch::detail {

TESSERA_INLINE std::string text_of_range(interval i) {
    return "(" + std::to_string(i.begin) + ", " + std::to_string(i.end) + ")";
}

TESSERA_INLINE std::string route_line(const shard_text& s, std::string&) {
    const auto a = s.as<op::route_attributes>();
    return assign(s, "rt.route(" + s.input() + ", " + std::to_string(a.slots) + ", " + std::to_string(a.top) + ", " +
                         text_of(static_cast<bool>(a.weighted)) + ", " + text_of_range(s.range(loop_name::position)) +
                         ", " + text_of_range(s.range(loop_name::expert)) + ")");
}

TESSERA_INLINE std::string expert_linear_line(const shard_text& s, std::string& why) {
    const auto a = s.as<op::expert_linear_attributes>();
    if (s.range(loop_name::expert).size() > 1 &&
        s.range(loop_name::position).size() * a.groups < s.input_extents()[1]) {
        why = "a shard has some of the slots of several experts";
        return "";
    }
    return assign(s, "rt.expert_linear(" + s.input() + ", " + s.parameter(0) + ")");
}

} // namespace tessera::torch::detail

#include "tessera/base/end_header.inl"
