// SPDX-License-Identifier: Apache-2.0
// Bodies of exchanges.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/exchanges.hpp"

namespace tessera::torch::detail {

TESSERA_INLINE int exchanges::place(std::vector<located_tile>& list, const located_tile& x) {
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (list[i].tile == x.tile) {
            return static_cast<int>(i);
        }
    }
    list.push_back(x);
    return static_cast<int>(list.size()) - 1;
}

TESSERA_INLINE void exchanges::bring_inputs(int op) {
    std::vector<std::pair<int, exchange_table>> found; // by tensor
    for (const int c : tables_.copies[to_size(op)]) {
        const task& t = plan_.tasks[to_size(c)];
        const int target = t.writes[0];
        if (tile_at(target).kind != tile_kind::activation) {
            continue;
        }
        const int tensor = tile_at(target).tensor;
        auto same = std::find_if(found.begin(), found.end(), [&](const auto& x) { return x.first == tensor; });
        if (same == found.end()) {
            found.push_back({tensor, start_exchange(op, tensor)});
            same = found.end() - 1;
        }
        exchange_table& x = same->second;
        const int to = place(x.targets, {t.device, tile_at(target).region, target});
        for (const copy_segment& seg : t.copy().segments) {
            const tile& from = tile_at(seg.source);
            if (from.device < 0) {
                x.kind = "take";
                x.input = std::string(g_.tensors[tensor].name);
                x.from_stage = x.to_stage;
                continue;
            }
            x.moves.push_back({place(x.sources, {from.device, from.region, seg.source}), to, seg.region});
        }
    }
    for (auto& [tensor, x] : found) {
        emit(x);
    }
}

TESSERA_INLINE exchange_table exchanges::start_exchange(int op, int tensor) {
    exchange_table x;
    int slot = 0;
    while (g_.ops[op].inputs[slot] != tensor) {
        ++slot;
    }
    x.name = names_[to_size(op)] + (g_.ops[op].inputs.size() > 1 ? ".in" + std::to_string(slot) : ".in");
    const int producer = g_.tensors[tensor].producer;
    x.from_stage = producer < 0 ? stage_of(op) : stage_of(producer);
    x.to_stage = stage_of(op);
    x.differentiable = carries_gradient(tensor);
    return x;
}

TESSERA_INLINE void exchanges::hand_over_inputs(int op) {
    const int stage = stage_of(op);
    for (int slot = 0; slot < g_.ops[op].inputs.size(); ++slot) {
        const int tensor = g_.ops[op].inputs[slot];
        exchange_table x = start_exchange(op, tensor);
        x.name += ".kept";
        for (const int t : read_tiles(op, slot)) {
            if (!value(stage, t).empty() || tile_at(t).region.empty()) {
                continue;
            }
            for (int from = 0; from < stage; ++from) {
                x.from_stage = !value(from, t).empty() ? from : x.from_stage;
            }
            const located_tile here{tile_at(t).device, tile_at(t).region, t};
            const int to = place(x.targets, here);
            x.moves.push_back({place(x.sources, here), to, here.region});
        }
        if (!x.targets.empty()) {
            emit(x);
        }
    }
}

TESSERA_INLINE std::vector<int> exchanges::read_tiles(int op, int slot) {
    std::vector<int> all;
    const auto add = [&](int t) {
        if (t >= 0 && std::find(all.begin(), all.end(), t) == all.end()) {
            all.push_back(t);
        }
    };
    const int o = in_.desc(op).find_operand(operand_kind::input, slot);
    for (const int c : tables_.computes[to_size(op)]) {
        add(plan_.tasks[to_size(c)].compute().value[o]);
    }
    for (const int v : tables_.views[to_size(op)]) {
        add(tile_at(v).alias);
    }
    return all;
}

TESSERA_INLINE bool exchanges::slice_lines(const exchange_table& x) {
    if (x.kind != "local" || x.from_stage != x.to_stage || x.moves.size() != x.targets.size()) {
        return false;
    }
    std::vector<std::string> texts(x.targets.size());
    for (const box_move& m : x.moves) {
        const box& whole = x.sources[to_size(m.from)].region;
        const box& kept = x.targets[to_size(m.to)].region;
        if (!(m.region == kept)) {
            return false;
        }
        std::string slices;
        for (int d = 0; d < kept.rank; ++d) {
            const bool all = kept.dim[d] == whole.dim[d];
            slices += (d > 0 ? ", " : "") + (all ? std::string(":")
                                                 : std::to_string(kept.dim[d].begin - whole.dim[d].begin) + ":" +
                                                       std::to_string(kept.dim[d].end - whole.dim[d].begin));
        }
        texts[to_size(m.to)] = value(x.from_stage, x.sources[to_size(m.from)].tile) + "[" + slices + "]";
    }
    const std::string base = free_.next(x.name);
    std::vector<int> counts(to_size(out_.ranks), 0);
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const located_tile& t = x.targets[i];
        const std::string name = numbered(base, counts[to_size(t.rank)]++);
        add_lines(x.to_stage, t.rank, name + " = " + texts[i]);
        values_[to_size(x.to_stage)][t.tile] = name;
    }
    return true;
}

TESSERA_INLINE void exchanges::emit(exchange_table x) {
    x.kind = x.kind.empty() ? kind_of(x) : x.kind;
    if (slice_lines(x)) {
        return;
    }
    const bool within = x.from_stage == x.to_stage;
    const std::string base = free_.next(x.name);
    for (int rank = 0; rank < out_.ranks; ++rank) {
        std::string given;
        std::string made;
        int count = 0;
        for (const located_tile& s : x.sources) {
            given += s.rank == rank ? ", " + value(x.from_stage, s.tile) : "";
        }
        for (const located_tile& t : x.targets) {
            if (t.rank == rank) {
                const std::string name = numbered(base, count);
                made += (count > 0 ? ", " : "") + name;
                values_[to_size(x.to_stage)][t.tile] = name;
                ++count;
            }
        }
        made += count == 1 ? ", = " : count > 0 ? " = " : "";
        const std::string name = literal(x.name);
        const std::string remark = "  # " + x.kind;
        if (x.kind == "take") {
            if (count > 0) {
                add_lines(x.to_stage, rank, joined({made, "r.take(", name, ")"}));
            }
        } else if (within) {
            if (count > 0 || !given.empty()) {
                add_lines(x.to_stage, rank, joined({made, "r.exchange(", name, given, ")", remark}));
            }
        } else {
            if (!given.empty()) {
                add_lines(x.from_stage, rank, joined({"r.send(", name, given, ")", remark}));
            }
            if (count > 0) {
                add_lines(x.to_stage, rank, joined({made, "r.receive(", name, ")", remark}));
            }
        }
        for (const located_tile& t : x.targets) { // inputs are rounded on the way, and sums when they are stored
            if (t.rank == rank && (x.kind == "take" || x.moves.size() > x.targets.size())) {
                std::string& made_here = values_[to_size(x.to_stage)][t.tile];
                made_here = stored(x.to_stage, rank, made_here, t.tile);
            }
        }
    }
    out_.exchanges.push_back(std::move(x));
}

} // namespace tessera::torch::detail

#include "tessera/base/end_header.inl"
