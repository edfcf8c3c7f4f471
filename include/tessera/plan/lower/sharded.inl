// SPDX-License-Identifier: Apache-2.0
// Bodies of sharded.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/sharded.hpp"

#include <utility>

namespace tessera::lowering {

TESSERA_INLINE std::vector<std::vector<piece>> groups_of(const located& parameter) {
    std::vector<std::vector<piece>> result;
    for (const piece& p : parameter.pieces) {
        bool placed = false;
        for (std::vector<piece>& group : result) {
            if (group[0].region == p.region) {
                group.push_back(p);
                placed = true;
                break;
            }
        }
        if (!placed) {
            result.push_back({p});
        }
    }
    return result;
}

TESSERA_INLINE bool is_sliceable(const network_places& net, int parameter) {
    const std::vector<std::vector<piece>> all = groups_of(net.parameters[to_size(parameter)]);
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k) {
            if (!intersect(all[i][0].region, all[k][0].region).empty()) {
                return false;
            }
        }
    }
    for (const std::vector<piece>& copies : all) {
        for (const piece& p : net.parameter_gradients[to_size(parameter)].pieces) {
            const box& region = copies[0].region;
            if (!(p.region == region) && !intersect(p.region, region).empty()) {
                return false;
            }
        }
    }
    return true;
}

TESSERA_INLINE void take_stored_slices(const lowering_input& in, network_places& net, plan_writer& out, int parameter) {
    located& all = net.parameters[to_size(parameter)];
    std::vector<piece> pieces;
    for (const std::vector<piece>& copies : groups_of(all)) {
        std::vector<const tile*> slices;
        for (const tile& x : *in.o.stored) {
            if (x.tensor == parameter && x.slices > 1 && x.region == copies[0].region) {
                slices.resize(slices.size() > to_size(x.slice) ? slices.size() : to_size(x.slice) + 1);
                slices[to_size(x.slice)] = &x;
            }
        }
        if (slices.empty()) {
            pieces.insert(pieces.end(), copies.begin(), copies.end());
        }
        for (const tile* x : slices) { // in their order, in which they are gathered
            piece mine{x->region, x->device, 0, -1};
            for (const piece& p : copies) {
                mine.tile = p.device == x->device ? p.tile : mine.tile;
            }
            if (mine.tile < 0) {
                mine.tile = add_tile(out, tile_kind::parameter, parameter, x->region, x->device, element::f32);
            }
            tile& made = out[mine.tile];
            made.slice = x->slice;
            made.slices = x->slices;
            made.elements = x->elements;
            pieces.push_back(mine);
        }
    }
    all.pieces = std::move(pieces);
}

TESSERA_INLINE void shard_parameters(const lowering_input& in, network_places& net, plan_writer& out) {
    if (in.s.sync == nullptr || !in.s.sync->shards_parameters) {
        return;
    }
    if (in.o.stored != nullptr) {
        for (int p = 0; p < in.g.parameter_count; ++p) {
            take_stored_slices(in, net, out, p);
        }
        return;
    }
    for (int p = 0; p < in.g.parameter_count; ++p) {
        if (!in.g.parameters[p].trained || !is_sliceable(net, p)) {
            continue;
        }
        for (const std::vector<piece>& copies : groups_of(net.parameters[to_size(p)])) {
            const int own = static_cast<int>(copies.size());
            const int n = in.in_all_parts(own);
            for (int i = 0; i < own && n > 1; ++i) {
                tile& x = out[copies[to_size(i)].tile];
                x.slice = i;
                x.slices = n;
                x.elements = even_part(x.region.volume(), n, i).size();
            }
        }
    }
}

TESSERA_INLINE int whole_parameter(const lowering_input& in, network_places& net, const micro_batch_places& m,
                                   plan_writer& out, int op, int which, int stored, pass what) {
    const bool forward = what == pass::forward || what == pass::evaluate;
    const auto known = [&](int of) {
        for (const whole_copy& w : net.whole_copies) {
            if (w.stored == of && w.micro_batch == m.number && w.forward == forward) {
                return w.tile;
            }
        }
        return -1;
    };
    if (known(stored) >= 0) {
        return known(stored);
    }
    const int parameter = out[stored].tensor;
    const box region = out[stored].region;
    std::vector<int> slices;
    for (const piece& p : net.parameters[to_size(parameter)].pieces) {
        if (p.region == region) {
            slices.push_back(p.tile);
        }
    }
    const int message = out.message_count++;
    for (const shard& s : m.shards[to_size(op)]) {
        int own = -1;
        for (const int t : slices) {
            own = out[t].device == s.device ? t : own;
        }
        if (in.is_empty(s, op) || !(in.region_of(op, which, s) == region) || known(own) >= 0) {
            continue;
        }
        const int made = add_intermediate(in, out, tile_kind::intermediate, op, which, region, s.device, element::f32);
        task& t = add_task(out, task_kind::gather, op, what, s.summand, s.device);
        t.mutable_params().parameter = parameter;
        t.reads = slices;
        t.writes = {made};
        t.mutable_params().message = message;
        for (const int r : slices) {
            const index_t all = elements_of_images(out, out[r].device, {region.volume(), out[r].slices, out[r].slice});
            const index_t times = out.images(s.device) - (out[r].device == s.device ? 1 : 0);
            out.p.moved_bytes += times * all * bytes_of(element::f32);
        }
        net.whole_copies.push_back({own, m.number, forward, made});
    }
    return known(stored);
}

} // namespace tessera::lowering

#include "tessera/base/end_header.inl"
