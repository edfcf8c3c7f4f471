// SPDX-License-Identifier: Apache-2.0
// Bodies of parts.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/grid/parts.hpp"

#include <utility>

namespace tessera::search {

TESSERA_INLINE grid_parts::grid_parts(const graph_view& g, const cluster& on, const simulation::task_times& times,
                                      const lower_options& o)
    : on_(on), g_(g), times_(times), options_(o), repeats_(find_repeats(g)) {
    if (repeats_.count < blocks_needed) {
        throw error("tessera: a network of " + std::to_string(repeats_.count) +
                    " repeated blocks is not estimated from a few of them; lower and simulate its plan");
    }
    stored_.resize(to_size(g.op_count));
    users_.resize(to_size(g.parameter_count));
    for (int op = 0; op < g.op_count; ++op) {
        for (int p : g.ops[op].parameters) {
            users_[to_size(p)].push_back(op);
        }
    }
    for (int d = 0; d < on.devices(); ++d) {
        const index_t m = on.class_of(d).memory_bytes;
        limit_ = m > 0 && (limit_ == 0 || m < limit_) ? m : limit_;
    }
}

TESSERA_INLINE index_t grid_parts::samples(const device_grid& x) const {
    const index_t parts = index_t{x.data} * x.micro_batches;
    const index_t batch = g_.tensors[0].extents[0];
    if (batch % parts != 0) {
        throw error("tessera: a batch of " + std::to_string(batch) + " samples does not go evenly in " +
                    std::to_string(x.micro_batches) + " micro-batches of " + std::to_string(x.data) + " replicas");
    }
    return batch / parts;
}

TESSERA_INLINE int grid_parts::blocks_in(const device_grid& x, int stage) const {
    int n = 0;
    for (int b = 0; b < repeats_.count; ++b) {
        n += x.stage[to_size(repeats_.first + b * repeats_.length)] == stage ? 1 : 0;
    }
    return n;
}

TESSERA_INLINE strategy grid_parts::few_blocks(const device_grid& x, const shortened_graph& few, int micro_batches,
                                               bool two) const {
    const graph_view g = few.network.view();
    device_grid y;
    y.tensor = x.tensor;
    y.stages = 1;
    y.recompute = x.recompute;
    const int middle = repeats_.first + (blocks_needed / 2) * repeats_.length;
    for (int op = 0; op < g.op_count; ++op) {
        y.within.push_back(x.within[to_size(few.op_of[to_size(op)])]);
        y.stage.push_back(0);
    }
    strategy s = strategy_of(g, y);
    for (int op = middle; op < g.op_count && two && x.stages > 1; ++op) {
        s.ops[to_size(op)].stage = 1;
        s.ops[to_size(op)].start = x.data * x.tensor;
    }
    s.micro_batches = micro_batches;
    return s;
}

TESSERA_INLINE const std::vector<grid_parts::stored_parameter>& grid_parts::stored_by(const device_grid& x, int op) {
    stored_by_op& known = stored_[to_size(op)];
    if (known.within == x.within[to_size(op)] && !known.parameters.empty()) {
        return known.parameters;
    }
    known = {x.within[to_size(op)], {}};
    const description d = g_.describe(op);
    for (int o = 0; o < d.operands.size() && !g_.ops[op].parameters.empty(); ++o) {
        const operand_kind k = d.operands[o].kind;
        if (k != operand_kind::parameter && k != operand_kind::state) {
            continue;
        }
        stored_parameter h;
        h.parameter = g_.ops[op].parameters[d.operands[o].slot];
        std::vector<box> regions;
        for (int i = 0; i < known.within.shards(); ++i) {
            const box r = region(d, o, shard_at(known.within, nullptr, d, i).ranges);
            h.elements = std::max(h.elements, r.volume());
            std::size_t n = 0;
            while (n < regions.size() && !(regions[n] == r)) {
                ++n;
            }
            if (n == regions.size()) {
                regions.push_back(r);
                h.places.emplace_back();
            }
            h.places[n].push_back(i);
        }
        known.parameters.push_back(std::move(h));
    }
    return known.parameters;
}

TESSERA_INLINE bool grid_parts::is_first_user(const device_grid& x, int parameter, int op) const {
    for (int u : users_[to_size(parameter)]) {
        if (x.stage[to_size(u)] == x.stage[to_size(op)]) {
            return u == op;
        }
    }
    return false;
}

TESSERA_INLINE int grid_parts::stages_of(const device_grid& x, int parameter) const {
    int n = 0;
    int last = -1;
    for (int u : users_[to_size(parameter)]) {
        n += x.stage[to_size(u)] != last ? 1 : 0;
        last = x.stage[to_size(u)];
    }
    return n;
}

TESSERA_INLINE index_t grid_parts::members_of(const device_grid& x, const stored_parameter& h) const {
    return index_t{x.data} * static_cast<index_t>(h.places[0].size()) * stages_of(x, h.parameter);
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
