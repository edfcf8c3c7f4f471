// SPDX-License-Identifier: Apache-2.0
// Bodies of ring_gradients.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/backward.hpp"
#include "tessera/plan/lower/ring_gradients.hpp"

#include <algorithm>
#include <utility>

namespace tessera::lowering {

TESSERA_INLINE int add_up(plan_writer& out, const std::vector<int>& parts, int device, bool all, int op, pass what) {
    if (parts.size() == 1) {
        return parts[0];
    }
    const tile first = out[parts[0]];
    const int sum = add_tile(out, tile_kind::gradient, first.tensor, first.region, device, first.type);
    int least = first.summand;
    for (const int t : parts) {
        least = std::min(least, out[t].summand);
        out.p.moved_bytes += out[t].device != device ? first.region.volume() * bytes_of(first.type) : 0;
    }
    out[sum].summand = all ? -1 : least;
    task& copy = add_task(out, task_kind::copy, op, what, 0, device);
    copy.mutable_copy().reduce = reducer::sum;
    copy.writes = {sum};
    for (std::size_t i = 0; i < parts.size(); ++i) {
        copy.mutable_copy().segments.push_back({parts[i], first.region, i == 0});
        copy.reads.push_back(parts[i]);
    }
    return sum;
}

TESSERA_INLINE bool has_one_reader(const lowering_input& in, int tensor) {
    int readers = 0;
    for (int op = 0; op < in.g.op_count; ++op) {
        for (const int t : in.g.ops[op].inputs) {
            readers += t == tensor ? 1 : 0;
        }
    }
    return readers == 1;
}

TESSERA_INLINE void gradients_round::run(key_ring& r) {
    const auto n = to_size(r.count());
    std::vector<travelling_piece> pieces(n);
    own_.assign(n * max_operands, {});
    round_.assign(n * max_operands, {});
    go_round(
        r,
        [&](int piece, int s) {
            take_piece(in_, m_, out_, op_, pieces[to_size(piece)], of_piece(in_, m_, op_, r, s, piece), what_);
            made_.assign(max_operands, {});
        },
        [&](int s, int piece) { take_turn(r, pieces[to_size(piece)], s, piece); },
        [&](int piece, int s, bool at_home) { pass_on(r, piece, s, at_home); });
}

TESSERA_INLINE void gradients_round::take_turn(key_ring& r, const travelling_piece& keys, int s, int piece) {
    const description& d = in_.desc(op_);
    const shard x = of_piece(in_, m_, op_, r, s, piece);
    std::uint32_t reads = 0;
    for (int o = 0; o < d.operands.size(); ++o) {
        reads |= has(emits_, o) ? d.operands[o].gradient_reads : 0;
    }
    compute_fields own;
    std::vector<int> read;
    std::vector<int> written;
    for (int o = 0; o < d.operands.size(); ++o) {
        if (has(reads, o)) {
            own.value[o] = has(travelling_, o) ? keys.tile[o] : read_tile(in_, net_, m_, out_, op_, o, x, what_);
            read.push_back(own.value[o]);
        }
    }
    own.gradient[d.output()] = output_gradient(in_, m_, out_, op_, x, what_);
    read.push_back(own.gradient[d.output()]);
    for (int o = 0; o < d.operands.size(); ++o) {
        const operand& y = d.operands[o];
        if (y.kind == operand_kind::intermediate && y.differentiable && has(reads, o) && gradient_nest(d, o) > nest_) {
            own.gradient[o] = need_intermediate(in_, out_, intermediate_of(in_, net_, m_, op_, o, x).gradients,
                                                tile_kind::intermediate_gradient, op_, o, x, what_);
            read.push_back(own.gradient[o]);
        }
    }
    for (int o = 0; o < d.operands.size(); ++o) {
        if (has(emits_, o)) {
            own.gradient[o] = part_of(o, x);
            written.push_back(own.gradient[o]);
        }
    }
    task& t = add_compute(in_, out_, op_, what_, r.shards[to_size(s)], x, nest_, nest_);
    t.mutable_compute().emits = emits_;
    t.mutable_compute().value = own.value;
    t.mutable_compute().gradient = own.gradient;
    t.reads = std::move(read);
    t.writes = std::move(written);
    --r.turns_left[to_size(s)];
    for (int o = 0; o < d.operands.size(); ++o) {
        if (has(emits_ & travelling_, o)) {
            made_[to_size(o)].push_back(own.gradient[o]);
        } else if (has(emits_, o)) {
            add_to_queries(r, o, s, own.gradient[o]);
        }
    }
}

TESSERA_INLINE int gradients_round::part_of(int o, const shard& x) {
    const int tensor = tensor_of(o);
    const box region = in_.region_of(op_, o, x);
    const int t = add_tile(out_, tile_kind::gradient, tensor, region, x.device, in_.g.tensors[tensor].type);
    out_[t].summand = m_.gradients[to_size(tensor)].parts++;
    return t;
}

TESSERA_INLINE void gradients_round::add_to_queries(key_ring& r, int o, int s, int part) {
    int& sum = own_[to_size(s * max_operands + o)].tile;
    const bool last = r.turns_left[to_size(s)] == 0;
    sum = sum < 0 ? part : add_up(out_, {sum, part}, r.at[to_size(s)], last && is_all(o), op_, what_);
    if (last) {
        contribute_all(o, sum);
    }
}

TESSERA_INLINE void gradients_round::pass_on(key_ring& r, int piece, int s, bool at_home) {
    const bool last = --r.stops_left[to_size(piece)] == 0;
    const int device = r.at[to_size(s)];
    const int home = r.at[to_size(piece)];
    for (int o = 0; o < in_.desc(op_).operands.size(); ++o) {
        if (!has(emits_, o) || !has(travelling_, o)) {
            continue;
        }
        running_gradient& sum = round_[to_size(piece * max_operands + o)];
        std::vector<int> parts = made_[to_size(o)];
        if (at_home) {
            sum.own = add_up(out_, parts, device, last && is_all(o), op_, what_);
        } else {
            if (sum.tile >= 0) {
                parts.insert(parts.begin(), sum.tile);
            }
            sum.tile = add_up(out_, parts, device, false, op_, what_);
        }
        if (last) {
            contribute_all(o, at_home ? sum.own : add_up(out_, {sum.tile, sum.own}, home, is_all(o), op_, what_));
        }
    }
}

TESSERA_INLINE void gradients_round::contribute_all(int o, int t) {
    located& to = m_.gradients[to_size(tensor_of(o))];
    to.pieces.push_back({out_[t].region, out_[t].device, is_all(o) ? 0 : out_[t].summand, t});
}

TESSERA_INLINE void backward_round(const lowering_input& in, network_places& net, micro_batch_places& m,
                                   plan_writer& out, int op, int k, std::uint32_t emits, pass what) {
    gradients_round round(in, net, m, out, op, k, emits, what);
    for (key_ring& r : rings_of(in, m, op)) {
        round.run(r);
    }
    for (int o = 0; o < in.desc(op).operands.size(); ++o) {
        if (has(emits, o)) {
            const int tensor = in.g.ops[op].inputs[in.desc(op).operands[o].slot];
            located& made = m.gradients[to_size(tensor)];
            if (has_one_reader(in, tensor)) { // all sums are made
                made.parts = 1;
                made.summed_first = true;
            }
        }
    }
}

} // namespace tessera::lowering

#include "tessera/base/end_header.inl"
