// SPDX-License-Identifier: Apache-2.0
// Bodies of times.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/fit/times.hpp"

namespace tessera::search {

TESSERA_INLINE fit_times::fit_times(const graph_view& g, const cluster& on, const cost::roofline_efficiency& reached)
    : on_(on), g_(g), reached_(reached), kept_(to_size(g.tensor_count), 0) {
    std::vector<char> seen(to_size(g.parameter_count), 0);
    for (int op = 0; op < g.op_count; ++op) {
        descriptions_.push_back(g.describe(op));
        index_t bytes = 0;
        for (const int p : g.ops[op].parameters) {
            bytes += seen[to_size(p)]++ == 0 ? g.parameters[p].extents.volume() * bytes_of(element::f32) : 0;
        }
        parameters_.push_back(bytes);
    }
    for (int op = g.op_count; op-- > 0;) {
        find_kept(op);
    }
}

TESSERA_INLINE const std::vector<operator_estimate>& fit_times::operator()(int micro_batches, int width,
                                                                           baseline inside) {
    for (const auto& k : known_) {
        if (k.micro_batches == micro_batches && k.width == width && k.inside == inside) {
            return k.times;
        }
    }
    known_.push_back({micro_batches, width, inside, {}});
    for (int op = 0; op < g_.op_count; ++op) {
        known_.back().times.push_back(time_of(op, micro_batches, width, inside));
    }
    return known_.back().times;
}

TESSERA_INLINE void fit_times::find_kept(int op) {
    const description& d = descriptions_[to_size(op)];
    std::uint32_t reads = 0;
    for (const operand& x : d.operands) {
        reads |= x.kind == operand_kind::input || x.kind == operand_kind::parameter ? x.gradient_reads : 0;
    }
    const int out = g_.ops[op].output;
    for (int o = 0; o < d.operands.size(); ++o) {
        const bool read = has(reads, o);
        const operand& x = d.operands[o];
        if (x.kind == operand_kind::output) {
            kept_[to_size(out)] = kept_[to_size(out)] != 0 || read ? 1 : 0;
        } else if (x.kind == operand_kind::input) {
            const bool renamed = d.facts.view && kept_[to_size(out)] != 0;
            char& kept = kept_[to_size(g_.ops[op].inputs[x.slot])];
            kept = kept != 0 || read || renamed ? 1 : 0;
        }
    }
}

TESSERA_INLINE operator_estimate fit_times::time_of(int op, int micro_batches, int width, baseline inside) const {
    const description& d = descriptions_[to_size(op)];
    const configuration c = baseline_configuration(g_, op, width, inside);
    const int batch_loop = d.find_loop(loop_name::sample);
    interval ranges[max_loops];
    operator_estimate t;
    int shards = 1;
    for (int l = 0; l < d.loops.size(); ++l) {
        const int cut = c.degree[l] * (l == batch_loop ? micro_batches : 1);
        ranges[l] = {0, (d.loops[l].extent + cut - 1) / cut};
        shards *= c.degree[l];
        t.parts *= l == batch_loop ? 1 : c.degree[l];
    }
    const op_attributes& a = g_.ops[op].attributes;
    t.made = d.facts.view ? 0 : region(d, d.output(), ranges).volume() * bytes_of(g_.output_of(op).type);
    t.kept = kept_[to_size(g_.ops[op].output)] != 0 ? t.made : 0;
    if (d.facts.view) { // it only renames
        return t;
    }
    const device_class& on = on_.class_of(0);
    const index_t bytes = forward_bytes(d, ranges);
    t.forward = cost::roofline_time({d.facts.work, forward_flops(d, ranges), bytes, a.math}, on, reached_);
    const bool two = !g_.ops[op].parameters.empty();
    const index_t half = backward_flops(d, ranges) / (two ? 2 : 1);
    t.input = cost::roofline_time({d.facts.work, half, bytes, a.math}, on, reached_);
    t.weight = two ? t.input : 0;
    if (t.parts > 1) { // every shard takes in what the others have, forward and backward
        const route r = on_.between(0, std::min(width, on_.devices()) - 1);
        const index_t fetch = r.time(t.made * (shards - 1));
        t.forward += fetch;
        t.input += fetch;
    }
    return t;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
