// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts: the mask by which tokens are dispatched and combined, and the experts' layers.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/shard_text.hpp"
#include "tessera/op/expert.hpp"

namespace tessera::torch::detail {

inline std::string text_of_range(interval i) {
    return "(" + std::to_string(i.begin) + ", " + std::to_string(i.end) + ")";
}

inline std::string route_line(const shard_text& s, std::string&) {
    const auto a = s.as<op::route_attributes>();
    return assign(s, "rt.route(" + s.input() + ", " + std::to_string(a.slots) + ", " + std::to_string(a.top) + ", " +
                         text_of(static_cast<bool>(a.weighted)) + ", " + text_of_range(s.range(loop_name::position)) +
                         ", " + text_of_range(s.range(loop_name::expert)) + ")");
}

inline std::string expert_linear_line(const shard_text& s, std::string& why) {
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
