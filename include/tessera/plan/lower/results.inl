// SPDX-License-Identifier: Apache-2.0
// Bodies of results.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/results.hpp"

namespace tessera::lowering {

TESSERA_INLINE void keep(plan_writer& out, int tensor, const located& where) {
    for (const piece& x : where.pieces) {
        if (x.device >= 0) {
            out.p.results.push_back({tensor, x.summand, x.tile, out.step});
            out[out.p.root(x.tile)].keep = true;
            out[x.tile].keep = true;
        }
    }
}

TESSERA_INLINE void collect_results(const lowering_input& in, const network_places& net,
                                    const std::vector<micro_batch_places>& micro_batches, plan_writer& out) {
    for (int op = 0; op < in.g.op_count; ++op) {
        for (std::size_t m = 0; m < micro_batches.size() && in.g.is_loss(op); ++m) {
            const auto keep_tensor = [&](int t) { keep(out, t, micro_batches[m].values[to_size(t)]); };
            keep_tensor(in.g.ops[op].output);
            if (!in.for_training()) {
                keep_tensor(in.g.ops[op].inputs[0]);
            }
        }
    }
    for (const int t : in.o.wanted) {
        for (const micro_batch_places& m : micro_batches) {
            keep(out, t, m.values[to_size(t)]);
        }
    }
    if (in.o.output_gradient >= 0) {
        const int result = in.g.ops[in.g.op_count - 1].output;
        keep(out, result, micro_batches[0].values[to_size(result)]);
        for (int t : in.g.ops[0].inputs) {
            keep(out, t, micro_batches[0].gradients[to_size(t)]);
        }
    }
    if (in.o.keep_gradients && out.step + 1 == in.steps_per_plan()) {
        for (int p = 0; p < in.g.parameter_count; ++p) {
            for (const piece& c : net.parameter_gradients[to_size(p)].pieces) {
                out.p.gradients.push_back({p, c.summand, c.tile, out.step});
            }
        }
    }
}

} // namespace tessera::lowering

#include "tessera/base/end_header.inl"
