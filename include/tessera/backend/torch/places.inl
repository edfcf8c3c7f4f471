// SPDX-License-Identifier: Apache-2.0
// Bodies of places.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/places.hpp"

namespace tessera::torch::detail {

TESSERA_INLINE strategy plain_strategy(const strategy_view& s) {
    strategy plain(s);
    plain.sync = {};
    plain.overlap = false;
    plain.sums_first = false;    // gradients of activations are summed by autograd
    plain.state_on_host = false; // the numbers are the same
    plain.schedule.keeps.clear();
    for (configuration& c : plain.ops) {
        c.recompute = c.offload = false; // the numbers are the same
    }
    for (std::vector<action>& worker : plain.schedule.workers) {
        worker.erase(std::remove_if(worker.begin(), worker.end(),
                                    [](const action& a) { return a.what == action_kind::recompute; }),
                     worker.end());
    }
    return plain;
}

TESSERA_INLINE places::places(const graph_view& g, const strategy_view& s, int devices, const optimizer& update)
    : g_(g), s_(s), plain_(plain_strategy(s)), options_{.update = update}, in_(g, plain_.view(), devices, options_),
      plan_(lower(g, plain_.view(), devices, options_)), paths_(paths_of(g)) {
    out_.ranks = devices;
    out_.batch = g.tensors[0].extents[0];
    out_.micro_batches = s.micro_batches;
    out_.update = update;
    int stages = 1;
    for (int op = 0; op < g.op_count; ++op) {
        stages = std::max(stages, stage_of(op) + 1);
        names_.push_back(free_.next(paths_.op(op)));
    }
    out_.stages.resize(to_size(stages));
    out_.recomputes.assign(to_size(stages), 0);
    values_.resize(to_size(stages));
    tables_ = tile_tables(plan_, g);
    add_parameters();
}

TESSERA_INLINE void places::add_lines(int stage, int rank, const std::string& text) {
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t end = std::min(text.find('\n', from), text.size());
        out_.stages[to_size(stage)][rank].push_back(text.substr(from, end - from));
        from = end + 1;
    }
}

TESSERA_INLINE std::string places::value(int stage, int tile) const {
    const auto found = values_[to_size(stage)].find(tile);
    return found == values_[to_size(stage)].end() ? std::string() : found->second;
}

TESSERA_INLINE std::string places::stored(int stage, int rank, const std::string& name, int tile) {
    if (tile_at(tile).type != element::bf16) {
        return name;
    }
    std::string rounded = derived(name, "bf16");
    add_lines(stage, rank, joined({rounded, " = rt.bf16(", name, ")"}));
    return rounded;
}

TESSERA_INLINE void places::add_parameters() {
    for (int p = 0; p < g_.parameter_count; ++p) {
        const parameter_node& x = g_.parameters[p];
        const update_rule rule = rule_for(out_.update, g_, p);
        out_.parameters.push_back({paths_.parameter(p),
                                   x.extents,
                                   x.trained && !x.state,
                                   static_cast<double>(rule.rate_factor),
                                   static_cast<double>(rule.weight_decay),
                                   {}});
    }
    for (int t = 0; t < static_cast<int>(plan_.tiles.size()); ++t) {
        if (tile_at(t).kind == tile_kind::parameter) {
            out_.parameters[to_size(tile_at(t).tensor)].homes.push_back({tile_at(t).device, tile_at(t).region, t});
        }
    }
}

TESSERA_INLINE std::string places::parameter_text(int tile) const {
    const parameter_table& p = out_.parameters[to_size(tile_at(tile).tensor)];
    int number = 0;
    for (const located_tile& h : p.homes) {
        if (h.tile == tile) {
            break;
        }
        number += h.rank == tile_at(tile).device ? 1 : 0;
    }
    return "r.parameter(" + literal(p.name) + (number > 0 ? ", " + std::to_string(number) : "") + ")";
}

TESSERA_INLINE std::string places::state_text(int op, int which, const task& t) {
    const box own = region(in_.desc(op), which, t.compute().ranges);
    const int parameter = g_.ops[op].parameters[in_.desc(op).operands[which].slot];
    for (const located_tile& h : out_.parameters[to_size(parameter)].homes) {
        if (h.rank == t.device && h.region == own && followed_.insert(h.tile).second) {
            return parameter_text(h.tile);
        }
    }
    return {};
}

} // namespace tessera::torch::detail

#include "tessera/base/end_header.inl"
