// SPDX-License-Identifier: Apache-2.0
// Bodies of call.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/call.hpp"

namespace tessera {

TESSERA_INLINE compute_call call_of(const plan& p, const task& t, const graph_view& g, const description& d) {
    compute_call c;
    c.d = &d;
    c.attributes = g.ops[t.op].attributes;
    c.op = g.number_of(t.op);
    c.what = t.what == pass::recompute ? pass::forward : t.what;
    c.first_nest = t.compute().first_nest;
    c.last_nest = t.compute().last_nest;
    c.emits = t.compute().emits;
    c.first_part = t.compute().first_part;
    c.continues = t.compute().turn > 0;
    c.loss_scale = p.loss_scale * c.attributes.weight / loss_divisor(c.attributes, g.output_of(t.op).extents);
    const index_t samples = g.output_of(t.op).extents[0];          // over which statistics are taken
    const bool all = p.joint_statistics || t.what == pass::update; // running statistics follow the whole batch's
    c.samples = t.compute().samples > 0 ? t.compute().samples
                : all                   ? samples
                                        : even_part(samples, p.micro_batches, t.micro_batch).size();
    for (int l = 0; l < max_loops; ++l) {
        c.ranges[l] = t.compute().ranges[l];
    }
    for (int o = 0; o < max_operands; ++o) {
        if (t.compute().value[o] >= 0) {
            c.value[o].region = p.tiles[to_size(t.compute().value[o])].region;
        }
        if (t.compute().gradient[o] >= 0) {
            c.gradient[o].region = p.tiles[to_size(t.compute().gradient[o])].region;
        }
    }
    return c;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
