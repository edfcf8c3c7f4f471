// SPDX-License-Identifier: Apache-2.0
// Lowering of parameters that are stored as slices: who keeps which, and the tasks that gather them where an operator needs them whole.
#pragma once

#include "tessera/plan/lowering.hpp"

namespace tessera::detail {

/// Turns every copy of a trained parameter's shard into a slice of it. Where shards of one parameter overlap, they stay whole.
template <class Options>
void lowering<Options>::shard_parameters() {
    if (s_.sync == nullptr || !s_.sync->shards_parameters) {
        return;
    }
    for (int p = 0; p < g_.parameter_count; ++p) {
        if (!g_.parameters[p].trained || !is_sliceable(p)) {
            continue;
        }
        for (const std::vector<piece>& copies : groups(p)) {
            const int n = static_cast<int>(copies.size());
            for (int i = 0; i < n && n > 1; ++i) {
                tile& x = tile_at(copies[at(i)].tile);
                x.slice = i;
                x.slices = n;
                x.elements = even_part(x.region.volume(), n, i).size();
            }
        }
    }
}

/// The tile that holds a parameter's shard whole, for one micro-batch's forward or backward; made for all devices on which the operator's shards
/// need it at once.
template <class Options>
int lowering<Options>::whole_parameter(int op, int which, int stored, pass what) {
    const bool forward = what == pass::forward || what == pass::evaluate;
    const auto known = [&](int of) {
        for (const whole_copy& w : whole_copies_) {
            if (w.stored == of && w.micro_batch == micro_batch_ && w.forward == forward) {
                return w.tile;
            }
        }
        return -1;
    };
    if (known(stored) >= 0) {
        return known(stored);
    }
    const int parameter = tile_at(stored).tensor;
    const box region = tile_at(stored).region;
    std::vector<int> slices;
    for (const piece& p : parameters_[at(parameter)].pieces) {
        if (p.region == region) {
            slices.push_back(p.tile);
        }
    }
    const int message = exchanges_++;
    for (const shard& s : shards_[at(op)]) {
        int own = -1;
        for (const int t : slices) {
            own = tile_at(t).device == s.device ? t : own;
        }
        if (is_empty(s, op) || !(region_of(op, which, s) == region) || known(own) >= 0) {
            continue;
        }
        const int made = add_tile(tile_kind::intermediate, op * max_operands + which, region, s.device, element::f32);
        task& t = add_task(task_kind::gather, op, what, s.part, s.device);
        t.parameter = parameter;
        t.reads = slices;
        t.writes = {made};
        t.message = message;
        for (const int r : slices) {
            p_.moved_bytes += tile_at(r).device == s.device ? 0 : tile_at(r).elements * bytes_of(element::f32);
        }
        whole_copies_.push_back({own, micro_batch_, forward, made});
    }
    return known(stored);
}

} // namespace tessera::detail
