// SPDX-License-Identifier: Apache-2.0
// Bodies of norms.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/op/norms.hpp"

namespace tessera::torch::detail {

TESSERA_INLINE index_t elements_of_channel(const shard_text& s) {
    const shape& x = s.input_extents();
    return s.samples * (x.volume() / (x[0] * x[1]));
}

TESSERA_INLINE std::string batch_norm_nest(const shard_text& s, int nest, std::string&) {
    const auto a = s.as<op::batch_norm_attributes>();
    if (nest == 0) {
        return "rt.moments(" + s.input() + ", " + all_but_channels(s.input_extents().rank) + ")";
    }
    const int running = s.operand_of(operand_kind::state, 2);
    const std::string state = s.value[to_size(running)];
    return "r.batch_norm(" + s.input() + ", " + s.intermediate(0) + ", " + std::to_string(elements_of_channel(s)) +
           ", " + s.parameter(0) + ", " + s.parameter(1) + ", epsilon=" + text_of(a.epsilon) +
           (state.empty() ? "" : ", running=" + state + ", momentum=" + text_of(a.momentum)) + ")";
}

TESSERA_INLINE std::string batch_norm_line(const shard_text& s, std::string& why) {
    shard_text whole = s;
    const std::string moments = derived(s.out, "moments");
    whole.value[to_size(s.operand_of(operand_kind::intermediate, 0))] = moments;
    return moments + " = " + batch_norm_nest(s, 0, why) + "\n" + assign(s, batch_norm_nest(whole, 1, why));
}

TESSERA_INLINE std::string layer_norm_nest(const shard_text& s, int nest, std::string&) {
    const shape& x = s.input_extents();
    return nest == 0 ? "rt.moments(" + s.input() + ", (-1,))"
                     : "rt.layer_norm(" + s.input() + ", " + s.intermediate(0) + ", " + std::to_string(x[x.rank - 1]) +
                           ", " + s.parameter(0) + ", " + s.parameter(1) +
                           ", epsilon=" + text_of(s.as<op::layer_norm_attributes>().epsilon) + ")";
}

TESSERA_INLINE std::string layer_norm_line(const shard_text& s, std::string&) {
    const shape& x = s.input_extents();
    return assign(s, "F.layer_norm(" + s.input() + ", (" + std::to_string(x[x.rank - 1]) + ",), " + s.parameter(0) +
                         ", " + s.parameter(1) + ", eps=" + text_of(s.as<op::layer_norm_attributes>().epsilon) + ")");
}

TESSERA_INLINE std::string group_norm_line(const shard_text& s, std::string&) {
    const auto a = s.as<op::group_norm_attributes>();
    return assign(s, "F.group_norm(" + s.input() + ", " + std::to_string(s.range(loop_name::channel).size()) + ", " +
                         s.parameter(0) + ", " + s.parameter(1) + ", eps=" + text_of(a.epsilon) + ")");
}

TESSERA_INLINE std::string seen_by_softmax(const shard_text& s) {
    if (!s.as<op::softmax_attributes>().causal) {
        return s.input();
    }
    const box& x = s.input_region();
    return "rt.causal(" + s.input() + ", " + std::to_string(x.dim[x.rank - 2].begin) + ", " +
           std::to_string(x.dim[x.rank - 1].begin) + ")";
}

TESSERA_INLINE std::string softmax_line(const shard_text& s, std::string&) {
    return assign(s, "torch.softmax(" + seen_by_softmax(s) + ", -1)");
}

TESSERA_INLINE std::string softmax_nest(const shard_text& s, int nest, std::string&) {
    const std::string x = seen_by_softmax(s);
    const auto powers = [&] { return "rt.powers(" + x + ", " + s.intermediate(0) + ", -1)"; };
    return nest == 0   ? "rt.largest(" + x + ", -1)"
           : nest == 1 ? powers() + ".sum(-1)"
                       : powers() + " / " + s.intermediate(1) + ".unsqueeze(-1)";
}

} // namespace tessera::torch::detail

#include "tessera/base/end_header.inl"
