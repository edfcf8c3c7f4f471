// SPDX-License-Identifier: Apache-2.0
// Bodies of placement.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/placement.hpp"

namespace tessera::lowering {

TESSERA_INLINE int first_replica(const lowering_input& in, int op, const shard& s) {
    const configuration& c = in.config(op);
    const description& d = in.desc(op);
    const int l = statistics_loop(d); // what has running statistics takes them over samples
    int inner = 1;
    for (int k = l + 1; k < d.loops.size(); ++k) {
        inner *= c.degree[k];
    }
    const int first = s.box_index - s.index[l] * inner;
    return shard_at(c, in.s.pool, d, (first * c.partial + s.summand) * c.replicate).device;
}

TESSERA_INLINE int home_of(const lowering_input& in, int op, int which, const shard& s) {
    const operand_kind kind = in.desc(op).operands[which].kind;
    if (kind == operand_kind::state && in.s.statistics == statistics_over::replica) {
        return first_replica(in, op, s);
    }
    return in.s.parameters_on >= 0 && kind == operand_kind::parameter ? in.s.parameters_on : s.device;
}

TESSERA_INLINE int parameter_tile(const lowering_input& in, network_places& net, plan_writer& out, int op, int which,
                                  const shard& s) {
    const int parameter = in.g.ops[op].parameters[in.desc(op).operands[which].slot];
    const box region = in.region_of(op, which, s);
    const int home = home_of(in, op, which, s);
    for (const piece& p : net.parameters[to_size(parameter)].pieces) {
        if (p.device == home && p.region == region) {
            return p.tile;
        }
    }
    const int t = add_tile(out, tile_kind::parameter, parameter, region, home, element::f32);
    net.parameters[to_size(parameter)].pieces.push_back({region, home, 0, t});
    return t;
}

TESSERA_INLINE void place_parameters(const lowering_input& in, network_places& net, plan_writer& out, int op,
                                     const std::vector<shard>& shards) {
    for (const shard& s : shards) {
        for (int o = 0; o < in.desc(op).operands.size(); ++o) {
            const operand_kind k = in.desc(op).operands[o].kind;
            if (k == operand_kind::parameter || k == operand_kind::state) {
                parameter_tile(in, net, out, op, o, s);
            }
        }
    }
}

TESSERA_INLINE int parameter_value(const lowering_input& in, network_places& net, const micro_batch_places& m,
                                   plan_writer& out, int op, int which, const shard& s, pass what) {
    const int stored = parameter_tile(in, net, out, op, which, s);
    if (out[stored].slices > 1) {
        return whole_parameter(in, net, m, out, op, which, stored, what);
    }
    if (out[stored].device == s.device) {
        return stored;
    }
    for (const auto& [from, device, copy] : net.parameter_copies) {
        if (from == stored && device == s.device) {
            return copy;
        }
    }
    const box region = out[stored].region;
    const int t = add_intermediate(in, out, tile_kind::intermediate, op, which, region, s.device, element::f32);
    add_copy(out, op, what, stored, t);
    net.parameter_copies.push_back({stored, s.device, t});
    return t;
}

TESSERA_INLINE int reader_of(const lowering_input& in, int tensor) {
    for (int op = 0; op < in.g.op_count; ++op) {
        for (int t : in.g.ops[op].inputs) {
            if (t == tensor) {
                return op;
            }
        }
    }
    return in.g.op_count - 1;
}

TESSERA_INLINE void take_in(const lowering_input& in, plan_writer& out, int tensor, piece& where) {
    const element type = in.g.tensors[tensor].type;
    const int t = add_tile(out, tile_kind::activation, tensor, where.region, in.s.parameters_on, type);
    add_copy(out, reader_of(in, tensor), in.for_training() ? pass::forward : pass::evaluate, where.tile, t);
    where.device = in.s.parameters_on;
    where.tile = t;
}

TESSERA_INLINE std::vector<located> place_inputs(const lowering_input& in, plan_writer& out) {
    std::vector<located> values(to_size(in.g.tensor_count));
    for (int t = 0; t < in.g.tensor_count; ++t) {
        const tensor_node& n = in.g.tensors[t];
        if (n.producer < 0) {
            const box region = whole(n.extents);
            const int made = add_tile(out, tile_kind::input, t, region, -1, n.type);
            out[made].summand = 0;
            values[to_size(t)] = {{{region, -1, 0, made}}, 1};
            if (in.s.parameters_on >= 0 && t != in.o.output_gradient) {
                take_in(in, out, t, values[to_size(t)].pieces[0]);
            }
        }
    }
    return values;
}

TESSERA_INLINE void forget_step(const lowering_input& in, const network_places& net, micro_batch_places& m) {
    m.values = net.inputs;
    m.gathered_values.assign(to_size(in.g.tensor_count), {});
    m.gradients.assign(to_size(in.g.tensor_count), {});
    m.gathered_gradients.assign(to_size(in.g.tensor_count), {});
    m.intermediates.clear();
    m.made_again.assign(to_size(in.g.op_count), 0);
    m.waiting.assign(to_size(in.g.tensor_count), {});
}

TESSERA_INLINE void forget_step(const lowering_input& in, network_places& net, int sweeps) {
    net.parameter_gradients.assign(to_size(in.g.parameter_count), {});
    net.accumulators.assign(to_size(in.g.op_count), {});
    net.forwards_left.assign(to_size(in.g.op_count), sweeps);
    net.uses_left.assign(to_size(in.g.parameter_count), 0);
    for (int op = 0; op < in.g.op_count; ++op) {
        for (int p : in.g.ops[op].parameters) {
            net.uses_left[to_size(p)] += sweeps;
        }
    }
    net.parameter_copies.clear();
    net.whole_copies.clear();
    net.joint_intermediates.clear();
}

TESSERA_INLINE network_places place_network(const lowering_input& in, plan_writer& out,
                                            std::vector<micro_batch_places>& micro_batches, int sweeps) {
    network_places net;
    net.inputs = place_inputs(in, out);
    net.parameters.resize(to_size(in.g.parameter_count));
    forget_step(in, net, sweeps);
    for (int m = 0; m < in.s.micro_batches; ++m) {
        micro_batch_places& x = micro_batches.emplace_back();
        x.number = m;
        forget_step(in, net, x);
        for (int op = 0; op < in.g.op_count; ++op) {
            x.shards.push_back(in.shards_of(op, m));
            place_parameters(in, net, out, op, x.shards.back()); // a mirrored one has parameters of its own
        }
    }
    shard_parameters(in, net, out);
    return net;
}

} // namespace tessera::lowering

#include "tessera/base/end_header.inl"
