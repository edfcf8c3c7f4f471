// SPDX-License-Identifier: Apache-2.0
// Bodies of one_value.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/one_value.hpp"

namespace tessera {

TESSERA_INLINE void require_several_values(const plan& p, const graph_view& g) {
    for (const task& t : p.tasks) {
        if (t.kind() != task_kind::compute || t.what != pass::forward || t.op < 0 ||
            momentum_of(g.ops[t.op].attributes) <= 0) {
            continue;
        }
        const shape& x = g.tensors[g.ops[t.op].inputs[0]].extents;
        const index_t samples = call_of(p, t, g, g.describe(t.op)).samples;
        if (samples != 1 || x.volume() != x[0] * x[1]) {
            continue;
        }
        const char* const of = t.compute().samples > 0 ? "a shard" : p.micro_batches > 1 ? "a micro-batch" : "a batch";
        throw error("tessera: " + path_of(g, t.op) + " would take its statistics over one value for each channel, of " +
                    of + " of 1 sample, and make beta of it whatever it is; hand in more samples" +
                    (x[0] > 1 ? ", or take statistics over the whole batch (statistics_over::mini_batch)" : "") +
                    ", or normalize by running statistics that stay as they are");
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
