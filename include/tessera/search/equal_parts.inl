// SPDX-License-Identifier: Apache-2.0
// Bodies of equal_parts.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/equal_parts.hpp"

#include "tessera/net/with_batch.hpp"
#include "tessera/search/coarse/parts.hpp"

#include <utility>

namespace tessera::search::detail {

/// What keeps the parts of any number from doing the same, but for where shards are; "": nothing.
TESSERA_INLINE std::string unlike_in_parts(const cluster& on, const strategy& s, const lower_options& o) {
    if (o.kind != run_kind::training || o.stored != nullptr || o.output_gradient >= 0 || !o.wanted.empty()) {
        return "it is no plan of training alone";
    }
    if (o.update.clip_norm > 0 || o.update.is_layerwise()) {
        return "every device takes the norms of all";
    }
    if (s.parameters_on >= 0) {
        return "one device stores the parameters";
    }
    if (s.steps_per_plan > 1 || s.sync.average_every > 0 || s.sync.staleness > 0) {
        return "a plan covers several steps";
    }
    if (s.sync.compress != compression::none) {
        return "gradients are compressed";
    }
    for (int m = 0; m < s.micro_batches; ++m) {
        if (s.schedule.is_mirrored(m)) {
            return "a mirrored schedule names devices";
        }
    }
    for (const message& m : s.sync.messages) {
        if (m.method != exchange::sliced && m.method != exchange::all_reduce) {
            return "gradients go round a ring or to a server";
        }
        for (const gradient_slice& x : m.slices) {
            if (x.slices > 1) {
                return "gradients are sent in slices";
            }
        }
    }
    for (int d = 0; d < on.devices(); ++d) {
        if (on.class_of(d).serial_copies) {
            return "devices copy in turn";
        }
    }
    return "";
}

/// One operator's configuration in two of so many parts; false where the others do not do the same. Its shards'
/// devices go to `where`.
TESSERA_INLINE bool take_parts(const graph_view& g, const strategy& s, int op, int devices, int parts, configuration& c,
                               std::vector<int>& where) {
    const description d = g.describe(op);
    const int l = d.find_loop(loop_name::sample);
    if (l < 0 || c.degree[l] % parts != 0 || d.loops[l].extent % (index_t{1} * s.micro_batches * c.degree[l]) != 0) {
        return false;
    }
    for (const int cuts : c.cuts) {
        if (cuts >= 0) {
            return false;
        }
    }
    const configuration all = c;
    const int degree = c.degree[l] / parts;
    c.degree[l] = degree * planned_parts;
    where.assign(to_size(c.shards()), -1);
    for (int i = 0; i < all.shards(); ++i) {
        const shard x = shard_at(all, s.pool.data(), d, i);
        const int part = x.index[l] / degree;
        const int stands = part < planned_parts ? part : planned_parts - 1; // the part that stands for it
        int image = 0;
        for (int k = 0; k < d.loops.size(); ++k) {
            image = image * c.degree[k] + (k == l ? x.index[k] % degree + stands * degree : x.index[k]);
        }
        image = (image * c.partial + x.summand) * c.replicate + x.replica;
        const int device = x.device - (part - stands) * (devices / parts);
        int& first = where[to_size(image)];
        first = first < 0 ? device : first;
        if (x.device / (devices / parts) != part || first != device) {
            return false;
        }
    }
    return true;
}

/// Sliced tiles are a little smaller or larger in other parts. The same plan with all of them as small, or as large,
/// as they are anywhere.
TESSERA_INLINE plan with_slices(const plan& p, bool large) {
    plan q = p;
    for (tile& t : q.tiles) {
        if (t.slices > 1) {
            const index_t one = bytes_of(t.type) * (t.kind == tile_kind::optimizer_state ? p.states : 1);
            t.elements = even_part(t.region.volume(), t.slices, large ? t.slices - 1 : 0).size();
            t.bytes = t.elements * one;
        }
    }
    for (task& t : q.tasks) {
        if (t.params().slices > 1) {
            t.mutable_params().slice = large ? t.params().slices - 1 : 0;
        }
    }
    return q;
}

/// Why exchanges are not alike in all parts: they have as many members in each, and none sums nothing of a tile that
/// all write, which would need the tile for a shorter time.
TESSERA_INLINE std::string unlike_exchanges(const plan& p, int parts) {
    for (const task& t : p.tasks) {
        const int slices = t.params().slices;
        if (slices > 1 && slices % parts != 0) {
            return "parameters are exchanged within parts";
        }
        for (const int w : t.writes) {
            const tile& x = p.tiles[to_size(w)];
            const bool shared = x.kind == tile_kind::parameter_gradient && x.slices == 1;
            if (slices > 1 && shared && x.region.volume() < slices) {
                return "a parameter has fewer elements than devices that sum it";
            }
        }
    }
    return "";
}

/// True where neither times nor places of working memory tell the slices of one part from those of another.
TESSERA_INLINE bool same_with_any_slices(const plan& p, simulation::task_activities& activities) {
    const plan small = with_slices(p, false);
    const plan large = with_slices(p, true);
    for (std::size_t i = 0; i < p.tiles.size(); ++i) {
        if (!is_persistent(p.tiles[i].kind) && tessera::detail::align(small.tiles[i].bytes, p.alignment) !=
                                                   tessera::detail::align(large.tiles[i].bytes, p.alignment)) {
            return false;
        }
    }
    const std::vector<simulation::task_activity> a = activities.of(small.tiles, small.tasks);
    const std::vector<simulation::task_activity> b = activities.of(large.tiles, large.tasks);
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
        if (!(a[i].what == b[i].what)) {
            return false;
        }
    }
    return a.size() == b.size();
}

/// Bytes of what lasts on the devices of every part: slices differ a little.
TESSERA_INLINE std::vector<index_t> lasting_bytes(const plan& p, int parts) {
    const int in_part = p.devices / planned_parts;
    std::vector<index_t> bytes(to_size(in_part * parts), 0);
    for (const tile& t : p.tiles) {
        if (t.alias >= 0 || t.device < 0 || !is_persistent(t.kind)) {
            continue;
        }
        const index_t one = bytes_of(t.type) * (t.kind == tile_kind::optimizer_state ? p.states : 1);
        const int images = t.device < in_part ? 1 : parts - 1;
        for (int k = 0; k < images; ++k) {
            const int slice = t.slice + k * (t.slices / parts);
            const index_t mine = t.slices > 1 ? even_part(t.region.volume(), t.slices, slice).size() * one : t.bytes;
            bytes[to_size(t.device + k * in_part)] += tessera::detail::align(mine, p.alignment);
        }
    }
    return bytes;
}

} // namespace tessera::search::detail

namespace tessera::search {

TESSERA_INLINE equal_parts equal_parts_of(const graph_view& g, const cluster& on, const strategy& s,
                                          const lower_options& o) {
    equal_parts x;
    x.whole = detail::unlike_in_parts(on, s, o);
    const index_t batch = g.tensors[0].extents[0];
    for (int parts = on.devices(); parts > planned_parts && x.whole.empty(); --parts) {
        if (on.devices() % parts != 0 || batch % (index_t{1} * parts * s.micro_batches) != 0 ||
            !is_part(on, on.devices() / parts)) {
            continue;
        }
        x.how = s;
        x.how.pool.clear();
        bool alike = true;
        for (int op = 0; op < g.op_count && alike; ++op) {
            configuration c = s.ops[to_size(op)];
            std::vector<int> where;
            alike = detail::take_parts(g, s, op, on.devices(), parts, c, where);
            if (alike) {
                c.devices = -1;
                x.how.ops[to_size(op)] = c;
                x.how.place(op, where);
            }
        }
        if (alike) {
            x.parts = parts;
            x.network = with_batch(g, batch / parts * planned_parts);
            return x;
        }
    }
    x.whole = x.whole.empty() ? "no equal parts of the machine do the same, each with samples of its own" : x.whole;
    return x;
}

TESSERA_INLINE parts_step simulate_planned_parts(const cluster& on, const equal_parts& x,
                                                 const simulation::task_times& times, const lower_options& lowering) {
    parts_step r;
    if (!times.collectives) {
        r.whole = "parameters are updated without collectives";
        return r;
    }
    simulation::task_times of_parts = times;
    of_parts.parts = r.parts = x.parts;
    of_parts.planned_parts = planned_parts;
    bool unlike = false;
    lower_options o = lowering;
    o.parts = x.parts;
    o.unlike = &unlike;
    const int in_part = on.devices() / x.parts;
    plan p = bound_plan(x.network.view(), x.how, planned_parts * in_part, o);
    plan placed = detail::with_slices(p, true); // whoever has an empty slice passes its tiles by
    plan_memory(placed);
    simulation::task_activities activities(on, x.network.view(), of_parts);
    activities.use_lanes(std::vector<int>(to_size(on.lanes()), -1)); // first which there are
    if (unlike) {
        r.whole = "of several copies of a tile parts take different ones";
    } else if (r.whole = detail::unlike_exchanges(p, x.parts); !r.whole.empty()) {
        return r;
    } else if (!detail::same_with_any_slices(p, activities)) {
        r.whole = "slices of parameters are larger in some parts than in others";
    }
    if (!r.whole.empty()) {
        return r;
    }
    const simulation::part_lanes lanes =
        simulation::lanes_of_parts(on, x.parts, activities.transfers().pairs(), activities.collectives().used());
    r.whole = lanes.unlike;
    if (!r.whole.empty()) {
        return r;
    }
    activities.use_lanes(lanes.representative);
    r.step.makespan = simulation::run_activities(p, activities).when.makespan;
    r.step.moved_bytes = p.moved_bytes;
    r.step.peak_bytes = detail::lasting_bytes(placed, x.parts);
    for (int d = 0; d < on.devices(); ++d) {
        index_t& peak = r.step.peak_bytes[to_size(d)];
        peak += placed.arena_bytes[to_size(d < in_part ? d : in_part + d % in_part)];
        const index_t limit = on.class_of(d).memory_bytes;
        r.step.fits = r.step.fits && (limit <= 0 || peak <= limit);
    }
    return r;
}

TESSERA_INLINE parts_step simulate_parts(const graph_view& g, const cluster& on, const strategy& s,
                                         const simulation::task_times& times, const lower_options& lowering) {
    const equal_parts x = equal_parts_of(g, on, s, lowering);
    parts_step r;
    r.whole = x.whole;
    if (x.parts > 1) {
        r = simulate_planned_parts(on, x, times, lowering);
    }
    if (!r.whole.empty()) {
        r.parts = 1;
        r.step = simulate_finished(g, on, s, times, lowering);
    }
    return r;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
