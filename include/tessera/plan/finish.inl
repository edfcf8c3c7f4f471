// SPDX-License-Identifier: Apache-2.0
// Bodies of finish.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/finish.hpp"

namespace tessera {

TESSERA_INLINE std::uint64_t hash_of(const plan& p) {
    std::uint64_t h = 0x2545f4914f6cdd1dULL;
    const auto add = [&](index_t x) { h = op::mix(h ^ static_cast<std::uint64_t>(x)); };
    for (const tile& t : p.tiles) {
        add(static_cast<index_t>(t.kind));
        add(t.tensor);
        add(t.device);
        add(t.format);
        add(t.offset);
        add(t.alias);
        if (t.micro_batch != 0) {
            add(t.micro_batch);
        }
        if (t.replica != 0) {
            add(t.replica);
        }
        if (t.type == element::bf16) {
            add(static_cast<index_t>(t.type));
        }
        if (t.slices > 1 && t.kind != tile_kind::optimizer_state) { // whose tasks say so
            add(t.slice * 4096 + t.slices);
        }
        if (t.step != 0) {
            add(t.step);
        }
        for (int d = 0; d < t.region.rank; ++d) {
            add(t.region.dim[d].begin);
            add(t.region.dim[d].end);
        }
    }
    if (p.staleness > 0) {
        add(p.staleness);
    }
    if (p.compress.is_on()) {
        add(static_cast<index_t>(p.compress.how));
        add(p.compress.block);
        add(p.compress.keep_one_in);
    }
    for (const task& t : p.tasks) {
        add(static_cast<index_t>(t.kind));
        add(t.op);
        add(static_cast<index_t>(t.what));
        add(t.shard_number);
        add(t.micro_batch);
        add(t.device);
        add(t.implementation);
        if (t.samples != 0) {
            add(t.samples);
        }
        if (t.fused) {
            add(1);
        }
        if (t.beside) {
            add(2);
        }
        if (t.flag >= 0) {
            add(t.flag);
        }
        if (t.step != 0) {
            add(t.step);
        }
        if (t.scale != 1) {
            add(static_cast<index_t>(t.scale));
        }
        if (t.stream != task_stream::compute) {
            add(static_cast<index_t>(t.stream) + 1);
        }
        add(t.slice * 4096 + t.slices);
        if (t.message >= 0 || t.how != exchange::sliced) {
            add(t.message * 8 + static_cast<index_t>(t.how));
        }
        for (const task_part& x : t.parts) {
            add(x.parameter);
            add(x.reads * 65536 + x.writes);
            add(x.state);
        }
        for (int r : t.reads) {
            add(r);
        }
        for (int w : t.writes) {
            add(w);
        }
        for (const wait_for& w : t.waits) {
            add(w.list * 1000003 + w.count);
        }
        if (t.priority >= 0) {
            add(t.priority);
        }
        for (const int a : t.after) {
            add(a);
        }
    }
    return h;
}

TESSERA_INLINE void complete(plan& p) {
    plan_memory(p);
    set_waits(p);
}

TESSERA_INLINE void finish(const graph_view& g, plan& p, index_t device_memory, const optimizer* made_for) {
    complete(p);
    require_sound(g, p, device_memory, made_for);
    p.hash = hash_of(p);
}

} // namespace tessera

#include "tessera/base/end_header.inl"
