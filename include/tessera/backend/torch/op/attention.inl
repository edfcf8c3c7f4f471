// SPDX-License-Identifier: Apache-2.0
// Bodies of attention.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/op/attention.hpp"

namespace tessera::torch::detail {

TESSERA_INLINE dropped_numbers dropped_weights(const shard_text& s) {
    const auto a = s.as<op::attention_attributes>();
    const shape& q = s.input_extents(0);
    const box rows = region(*s.d, s.operand_of(operand_kind::intermediate, 0), s.ranges);
    return {a.percent > 0 ? "element" : "",
            a.percent,
            make_shape(q[0], a.heads, q[1], s.input_extents(1)[1]),
            {4, {rows.dim[0], rows.dim[1], rows.dim[2], s.range(loop_name::key_position)}}};
}

TESSERA_INLINE std::string attention_scores(const shard_text& s) {
    const auto a = s.as<op::attention_attributes>();
    const dropped_numbers weights = dropped_weights(s);
    const shape& all = weights.extents;
    const box& own = weights.region;
    const index_t width = s.input_extents(0)[2] / a.heads;
    const auto number = [](index_t x) { return std::to_string(x); };
    std::string text = "rt.attention_scores(" + s.input(0) + ", " + s.input(1) + ", " + number(own.dim[1].size()) +
                       ", " + number(s.range(loop_name::channel).size()) + ", " +
                       (a.scale == 0 ? number(width) + " ** -0.5" : text_of(a.scale));
    const bool is_padded = s.operand_of(operand_kind::input, 3) >= 0;
    const bool has_lengths = is_padded && s.input_extents(3).rank == 1;
    if (a.causal || a.window < all[2] + all[3] || a.alibi || a.buckets > 0 || has_lengths) {
        text += ", first=(" + number(own.dim[1].begin) + ", " + number(own.dim[2].begin + all[3] - all[2]) + ", " +
                number(own.dim[3].begin) + ")";
    }
    text += a.causal ? ", causal=True" : "";
    text += a.window < all[2] + all[3] ? ", window=" + number(a.window) : "";
    text += a.softcap > 0 ? ", softcap=" + text_of(a.softcap) : "";
    text += a.alibi ? ", alibi=" + number(a.heads) : "";
    if (a.buckets > 0) {
        const interval heads = region(*s.d, s.operand_of(operand_kind::parameter), s.ranges).dim[1];
        const index_t first = own.dim[1].begin - heads.begin;
        text += ", table=" + s.parameter(0);
        if (first != 0 || heads.size() != own.dim[1].size()) {
            text += "[:, " + number(first) + ":" + number(first + own.dim[1].size()) + "]";
        }
        text += ", distance=" + number(a.max_distance);
    }
    text += has_lengths ? ", lengths=" + s.input(3) : is_padded ? ", mask=" + s.input(3) : "";
    return text + ")";
}

TESSERA_INLINE std::string attention_line(const shard_text& s, std::string&) {
    std::string weights = "rt.attention_weights(" + attention_scores(s) + ")";
    if (s.as<op::attention_attributes>().percent > 0) {
        weights = with_dropout(s, weights);
    }
    return assign(s, "rt.attention_mixture(" + weights + ", " + s.input(2) + ", " +
                         std::to_string(s.range(loop_name::channel).size()) + ")");
}

TESSERA_INLINE std::string attention_nest(const shard_text& s, int nest, std::string&) {
    const std::string scores = attention_scores(s);
    const auto powers = [&] { return "rt.powers(" + scores + ", " + s.intermediate(0) + ", -1)"; };
    if (nest < 2) {
        return nest == 0 ? "rt.largest(" + scores + ", -1)" : powers() + ".sum(-1)";
    }
    std::string weights = powers() + " / " + s.intermediate(1) + ".clamp(min=1e-30).unsqueeze(-1)";
    if (s.as<op::attention_attributes>().percent > 0) {
        weights = with_dropout(s, weights);
    }
    return "rt.attention_mixture(" + weights + ", " + s.input(2) + ", " +
           std::to_string(s.range(loop_name::channel).size()) + ")";
}

} // namespace tessera::torch::detail

#include "tessera/base/end_header.inl"
