// SPDX-License-Identifier: Apache-2.0
// Bodies of moves.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/op/moves.hpp"

namespace tessera::torch::detail {

TESSERA_INLINE std::string view_line(const shard_text& s, std::string&) {
    std::string extents = "-1";
    for (int d = 1; d < s.output_region().rank; ++d) {
        extents += ", " + std::to_string(s.output_region().dim[d].size());
    }
    return assign(s, s.input() + ".reshape(" + extents + ")");
}

TESSERA_INLINE std::string concat_line(const shard_text& s, std::string&) {
    const int axis = op::axis_of(s.as<op::concat_attributes>().axis, s.output_extents().rank);
    std::string list;
    for (int k = 0; k < s.g->ops[s.op].inputs.size(); ++k) {
        if (!s.input_region(k).empty()) {
            list += (list.empty() ? "" : ", ") + s.input(k);
        }
    }
    return assign(s, "torch.cat([" + list + "], " + std::to_string(axis) + ")");
}

TESSERA_INLINE std::string permute_line(const shard_text& s, std::string&) {
    const auto a = s.as<op::permute_attributes>();
    return assign(s, s.input() + ".permute" +
                         tuple_of(static_cast<int>(a.rank), [&](int k) { return std::to_string(a.order[k]); }));
}

TESSERA_INLINE std::string broadcast_to_line(const shard_text& s, std::string&) {
    std::string extents = "-1";
    for (int d = 1; d < s.output_region().rank; ++d) {
        extents += ", " + std::to_string(s.output_region().dim[d].size());
    }
    return assign(s, "rt.align(" + s.input() + ", " + std::to_string(s.output_region().rank) + ").expand(" + extents +
                         ")");
}

TESSERA_INLINE std::string pad_line(const shard_text& s, std::string& why) {
    const auto a = s.as<op::pad_attributes>();
    std::string pads;
    for (int d = s.output_region().rank - 1; d >= 0; --d) {
        const interval out = s.output_region().dim[d];
        const interval in = s.input_region().dim[d];
        if (in.empty()) {
            why = "a shard holds nothing but padding";
            return "";
        }
        pads += (pads.empty() ? "" : ", ") + std::to_string(in.begin - (out.begin - a.before[d])) + ", " +
                std::to_string(out.end - a.before[d] - in.end);
    }
    return assign(s, "F.pad(" + s.input() + ", (" + pads + "))");
}

TESSERA_INLINE std::string flip_line(const shard_text& s, std::string&) {
    const auto a = s.as<op::flip_attributes>();
    std::string axes;
    for (int d = 0; d < s.output_region().rank; ++d) {
        axes += a.turned[d] != 0 ? (axes.empty() ? "" : ", ") + std::to_string(d) : "";
    }
    return assign(s, s.input() + ".flip(" + axes + ")");
}

TESSERA_INLINE std::string dropout_line(const shard_text& s, std::string&) {
    return assign(s, with_dropout(s, s.input()));
}

} // namespace tessera::torch::detail

#include "tessera/base/end_header.inl"
