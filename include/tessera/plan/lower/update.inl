// SPDX-License-Identifier: Apache-2.0
// Bodies of update.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/update.hpp"

#include "tessera/base/stable_sort.hpp"

namespace tessera::lowering {

TESSERA_INLINE std::vector<int> summed_by_device(const lowering_input& in, const network_places& net,
                                                 synchronization_places& sync, plan_writer& out, int parameter,
                                                 const std::vector<piece>& copies) {
    std::vector<int> all = equal_parts(net.parameter_gradients[to_size(parameter)], copies[0].region);
    std::vector<std::vector<int>> by_device;
    std::vector<int> place(to_size(out.p.devices), -1); // of a device's list
    for (const int t : all) {
        int& own = place[to_size(out[t].device)];
        if (own < 0) {
            own = static_cast<int>(by_device.size());
            by_device.emplace_back();
        }
        by_device[to_size(own)].push_back(t);
    }
    bool crosses = by_device.size() > 1;
    for (const piece& c : copies) {
        crosses = crosses || place[to_size(c.device)] < 0;
    }
    if (!crosses) {
        return all;
    }
    std::vector<int> result;
    for (const std::vector<int>& list : by_device) {
        int sum = list.size() > 1 ? -1 : list[0];
        for (const auto& [of, known] : sync.local_sums) {
            sum = of == list ? known : sum;
        }
        if (sum < 0) {
            const int device = out[list[0]].device;
            sum = add_tile(out, tile_kind::parameter_gradient, parameter, copies[0].region, device, element::f32);
            add_sum(out, in.first_user[to_size(parameter)], pass::update, 0, device, list, sum);
            if (in.has_messages()) { // other slices of it follow
                sync.local_sums.emplace_back(list, sum);
            }
        }
        result.push_back(sum);
    }
    return result;
}

TESSERA_INLINE int state_tile(const lowering_input& in, synchronization_places& sync, plan_writer& out,
                              const reduced_slice& r) {
    if (in.o.update.state_count() == 0) {
        return -1;
    }
    const box& region = r.copies[0].region;
    for (std::size_t i = 0; i < sync.states.size() && out.step > 0; ++i) {
        const tile& x = out[sync.states[i]];
        if (x.tensor == r.parameter && x.device == r.device && x.slice == r.slice && x.slices == r.slices &&
            x.region == region) {
            return sync.states[i];
        }
    }
    const int t = add_tile(out, tile_kind::optimizer_state, r.parameter, region, r.device, element::f32);
    out[t].elements = even_part(region.volume(), r.slices, r.slice).size();
    out[t].bytes = out[t].elements * bytes_of(element::f32) * in.o.update.state_count();
    out[t].on_host = in.state_on_host();
    out[t].slice = r.slice; // several of them may lie on one device
    out[t].slices = r.slices;
    if (out.p.steps_per_plan > 1) {
        sync.states.push_back(t);
    }
    return t;
}

TESSERA_INLINE void update_from(const lowering_input& in, synchronization_places& sync, plan_writer& out,
                                reduced_slices all, int number) {
    bring_down(in, sync, out, all, number);
    const bool on_host = in.state_on_host();
    std::vector<int> states;
    for (const reduced_slice& r : all) {
        states.push_back(r.state >= 0 ? r.state : state_tile(in, sync, out, r));
    }
    const reduced_slice& first = all[0];
    const int user = in.first_user[to_size(first.parameter)];
    task& t = add_task(out, task_kind::update, user, pass::update, number, first.device);
    t.mutable_params().parameter = first.parameter;
    t.mutable_params().slice = first.slice;
    t.mutable_params().slices = first.slices;
    t.mutable_params().state = all.size() == 1 ? states[0] : -1;
    t.mutable_params().method = on_host ? exchange::sliced : first.method;
    t.mutable_params().message = on_host ? -1 : first.message;
    t.late = in.sums_late();
    const bool urgent = in.has_messages() && in.s.sync->urgent_first && !in.updates_wait() && !on_host;
    const bool queued = urgent && first.method == exchange::server;
    t.priority = queued ? out.step * in.g.op_count + user : -1; // an earlier step needs it earlier
    for (std::size_t i = 0; i < all.size(); ++i) {
        const reduced_slice& r = all[i];
        t.reads.insert(t.reads.end(), r.from.begin(), r.from.end());
        if (in.layerwise[to_size(r.parameter)] != 0) {
            const std::vector<int>& own = sync.layer_norms[to_size(r.parameter)];
            t.reads.insert(t.reads.end(), own.begin(), own.end());
            if (std::find(t.params().layer_norms.begin(), t.params().layer_norms.end(), own[0]) ==
                t.params().layer_norms.end()) {
                t.mutable_params().layer_norms.insert(t.params().layer_norms.end(), own.begin(),
                                                      own.end()); // several regions have one parameter's
            }
        }
        std::vector<int> copies;
        for (const piece& c : r.copies) {
            copies.push_back(c.tile);
        }
        if (on_host) {
            copies = {r.on_host};
            sync.stepped.push_back(r);
        }
        t.writes.insert(t.writes.end(), copies.begin(), copies.end());
        const slice_number which{r.copies[0].region.volume(), r.slices, r.slice};
        count_exchanged(out, r.from, r.device, which);
        count_exchanged(out, copies, r.device, which);
        if (all.size() > 1) {
            t.mutable_params().parts.push_back(
                {r.parameter, static_cast<int>(t.reads.size()), static_cast<int>(t.writes.size()), states[i]});
        }
    }
    t.mutable_params().norms = sync.norms;
    t.reads.insert(t.reads.end(), sync.norms.begin(), sync.norms.end());
}

TESSERA_INLINE std::vector<std::vector<piece>> groups_to_update(const graph_view& g, const network_places& net,
                                                                int parameter) {
    std::vector<std::vector<piece>> all = groups_of(net.parameters[to_size(parameter)]);
    index_t volume = 0;
    for (const std::vector<piece>& copies : all) {
        volume += copies[0].region.volume();
    }
    if (volume <= g.parameters[parameter].extents.volume()) { // together they are the parameter
        return all;
    }
    const auto smaller = [](const std::vector<piece>& a, const std::vector<piece>& b) {
        return a[0].region.volume() < b[0].region.volume();
    };
    tessera::detail::stable_sort(all, smaller);
    return all;
}

TESSERA_INLINE std::vector<int> gathered_gradients(const lowering_input& in, const network_places& net,
                                                   plan_writer& out, int parameter, const std::vector<piece>& copies,
                                                   gathered_list& sums) {
    const located& contributions = net.parameter_gradients[to_size(parameter)];
    const int user = in.first_user[to_size(parameter)];
    needed_tile x{tile_kind::parameter_gradient, parameter, element::f32, copies[0].region, copies[0].device};
    located from = known_sums(sums, x.region);
    if (from.parts == 0 && copies.size() > 1) {
        std::vector<int> devices;
        for (const piece& c : copies) {
            devices.push_back(c.device);
        }
        from = sum_slices(out, contributions, sums, x, devices, user, pass::update);
    }
    std::vector<int> gathered(copies.size());
    for (const int i : spread_order(static_cast<int>(copies.size()))) {
        x.device = copies[to_size(i)].device;
        gathered[to_size(i)] = need(out, from.parts > 0 ? from : contributions, sums, x, user, pass::update);
    }
    return gathered;
}

TESSERA_INLINE void update_group(const lowering_input& in, const network_places& net, synchronization_places& sync,
                                 plan_writer& out, int parameter, const std::vector<piece>& copies,
                                 gathered_list& sums) {
    const std::vector<int> sources = summed_by_device(in, net, sync, out, parameter, copies);
    if (net.parameter_gradients[to_size(parameter)].pieces.empty()) {
        return;
    }
    const int members = static_cast<int>(copies.size());
    const std::vector<int> gathered =
        sources.empty() ? gathered_gradients(in, net, out, parameter, copies, sums) : std::vector<int>{};
    reduced_slices r{
        {parameter, 0, sources.empty() ? 1 : in.in_all_parts(members), copies, 0, -1, exchange::sliced, sources}};
    std::vector<int> sliced;
    if (in.state_on_host() && !sources.empty() && crosses_devices(out, sources, copies)) {
        sliced = sum_for_host(in, out, r[0]);
    }
    for (int i = 0; i < members; ++i) {
        r[0].device = copies[to_size(i)].device;
        if (sources.empty()) {
            r[0].copies = {copies[to_size(i)]};
            r[0].from = {gathered[to_size(i)]};
        } else {
            r[0].slice = i;
            r[0].from = sliced.empty() ? sources : std::vector<int>{sliced[to_size(i)]};
        }
        in.staleness() > 0 ? put_off(in, sync, out, r) : update_from(in, sync, out, r, i);
    }
    bring_up(in, sync, out);
}

TESSERA_INLINE void reduce_parameter(const lowering_input& in, const network_places& net, synchronization_places& sync,
                                     plan_writer& out, int parameter) {
    if (!in.g.parameters[parameter].trained || net.parameter_gradients[to_size(parameter)].pieces.empty()) {
        return;
    }
    std::vector<box> counted;
    gathered_list sums;
    for (const std::vector<piece>& copies : groups_to_update(in.g, net, parameter)) {
        const box region = copies[0].region;
        const std::vector<int> sources = summed_by_device(in, net, sync, out, parameter, copies);
        const std::vector<int> gathered =
            sources.empty() ? gathered_gradients(in, net, out, parameter, copies, sums) : std::vector<int>{};
        std::vector<box> overlapping; // squares that another group counts; then every copy sums the whole region
        for (const box& b : counted) {
            if (!intersect(b, region).empty()) {
                overlapping.push_back(b);
            }
        }
        const int slices = sources.empty() || !overlapping.empty() ? 1 : static_cast<int>(copies.size());
        for (int i = 0; i < static_cast<int>(copies.size()); ++i) {
            const int device = copies[to_size(i)].device;
            std::vector<int> from = sources;
            if (sources.empty()) {
                from = {gathered[to_size(i)]};
            }
            const int slice = slices > 1 ? i : 0;
            const int sum = add_tile(out, tile_kind::parameter_gradient, parameter, region, device, element::f32);
            const int norm = in.clips() ? add_tile(out, tile_kind::scalar, parameter, box{}, device, element::f64) : -1;
            task& t = add_task(out, task_kind::reduce, in.first_user[to_size(parameter)], pass::update, i, device);
            t.mutable_params().parameter = parameter;
            t.mutable_params().slice = slice;
            t.mutable_params().slices = slices;
            t.reads = from;
            t.writes = {sum};
            if (norm >= 0) {
                t.writes.push_back(norm);
                t.mutable_params().norms = {norm};
                t.mutable_params().counted_elsewhere = overlapping;
                if (slices == 1 && i > 0) {
                    t.mutable_params().counted_elsewhere.push_back(region);
                }
                sync.norms.push_back(norm);
            }
            count_moved(out, from, device, even_part(region.volume(), slices, slice).size());
            reduced_slices one{{parameter, slice, slices, copies, device, -1, exchange::sliced, {sum}}};
            if (slices == 1) {
                one[0].copies = {copies[to_size(i)]};
                one[0].counted_elsewhere = overlapping;
            }
            put_off(in, sync, out, std::move(one));
        }
        counted.push_back(region);
    }
}

TESSERA_INLINE void take_norms(const lowering_input& in, synchronization_places& sync, plan_writer& out,
                               const std::vector<reduced_slice*>& all, int number) {
    const reduced_slice& first = *all[0];
    const int user = in.first_user[to_size(first.parameter)];
    const bool of_update = in.o.update.trust == trust_by::update;
    std::vector<int> made;
    for (reduced_slice* r : all) {
        r->state = of_update ? state_tile(in, sync, out, *r) : -1;
        made.push_back(add_tile(out, tile_kind::scalar, r->parameter, layer_norm_region, r->device, element::f64));
    }
    task& t = add_task(out, task_kind::norm, user, pass::update, number, first.device);
    t.mutable_params().parameter = first.parameter;
    t.mutable_params().slice = first.slice;
    t.mutable_params().slices = first.slices;
    t.mutable_params().state = all.size() == 1 ? first.state : -1;
    t.late = in.sums_late();
    t.mutable_params().counted_elsewhere = first.counted_elsewhere;
    t.writes = made;
    t.mutable_params().layer_norms = made;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const reduced_slice& r = *all[i];
        int weights = r.copies[0].tile;
        for (const piece& c : r.copies) {
            weights = c.device == r.device ? c.tile : weights;
        }
        weights = r.on_host >= 0 ? r.on_host : weights;
        t.reads.push_back(weights);
        t.reads.insert(t.reads.end(), r.from.begin(), r.from.end());
        count_moved(out, {weights}, r.device, even_part(r.copies[0].region.volume(), r.slices, r.slice).size());
        if (all.size() > 1) {
            t.mutable_params().parts.push_back(
                {r.parameter, static_cast<int>(t.reads.size()), static_cast<int>(i) + 1, r.state});
        }
        sync.layer_norms[to_size(r.parameter)].push_back(made[i]);
    }
    t.mutable_params().norms = sync.norms;
    t.reads.insert(t.reads.end(), sync.norms.begin(), sync.norms.end());
}

TESSERA_INLINE void take_all_norms(const lowering_input& in, synchronization_places& sync, plan_writer& out) {
    struct candidate {
        reduced_slice* slice = nullptr;
        std::size_t task = 0; ///< in the list
    };
    std::vector<candidate> all;
    for (std::size_t i = 0; i < sync.reduced.size(); ++i) {
        for (reduced_slice& r : sync.reduced[i]) {
            if (in.layerwise[to_size(r.parameter)] != 0) {
                all.push_back({&r, i});
            }
        }
    }
    const auto key = [](const candidate& x) {
        std::array<index_t, 3 + 2 * max_rank> k{x.slice->parameter, x.slice->slices, x.slice->slice};
        const box& region = x.slice->copies[0].region;
        for (int d = 0; d < region.rank; ++d) {
            k[to_size(3 + 2 * d)] = region.dim[d].begin;
            k[to_size(4 + 2 * d)] = region.dim[d].end;
        }
        return k;
    };
    tessera::detail::stable_sort(all, [&](const candidate& a, const candidate& b) { return key(a) < key(b); });
    sync.layer_norms.resize(to_size(in.g.parameter_count));
    std::vector<index_t> load(to_size(out.p.devices), 0);
    std::vector<std::vector<reduced_slice*>> chosen(sync.reduced.size());
    for (std::size_t i = 0; i < all.size();) {
        std::size_t best = i;
        std::size_t k = i + 1;
        for (; k < all.size() && key(all[k]) == key(all[i]); ++k) {
            best = load[to_size(all[k].slice->device)] < load[to_size(all[best].slice->device)] ? k : best;
        }
        const reduced_slice& r = *all[best].slice;
        load[to_size(r.device)] += even_part(r.copies[0].region.volume(), r.slices, r.slice).size();
        chosen[all[best].task].push_back(all[best].slice);
        i = k;
    }
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        if (!chosen[i].empty()) {
            take_norms(in, sync, out, chosen[i], static_cast<int>(i));
        }
    }
}

TESSERA_INLINE void update_layerwise(const lowering_input& in, const network_places& net, synchronization_places& sync,
                                     plan_writer& out, int parameter) {
    reduce_parameter(in, net, sync, out, parameter);
    take_all_norms(in, sync, out);
    int number = 0;
    for (const reduced_slices& r : sync.reduced) {
        update_from(in, sync, out, r, number++);
    }
    bring_up(in, sync, out);
    sync.reduced.clear();
    sync.layer_norms.clear();
}

TESSERA_INLINE void update_clipped(const lowering_input& in, synchronization_places& sync, plan_writer& out,
                                   int parameter) {
    int number = 0;
    for (const reduced_slices& r : sync.reduced) {
        if (r[0].parameter == parameter) {
            update_from(in, sync, out, r, number++);
        }
    }
    bring_up(in, sync, out);
}

} // namespace tessera::lowering

#include "tessera/base/end_header.inl"
