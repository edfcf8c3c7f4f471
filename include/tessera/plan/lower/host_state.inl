// SPDX-License-Identifier: Apache-2.0
// Bodies of host_state.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/host_state.hpp"

#include <algorithm>
#include <utility>

namespace tessera::lowering {

TESSERA_INLINE int host_parameter(synchronization_places& sync, plan_writer& out, const reduced_slice& r) {
    const box& region = r.copies[0].region;
    for (std::size_t i = 0; i < sync.host_parameters.size() && out.p.steps_per_plan > 1; ++i) {
        const tile& x = out[sync.host_parameters[i]];
        if (x.tensor == r.parameter && x.device == r.device && x.slice == r.slice && x.slices == r.slices &&
            x.region == region) {
            return sync.host_parameters[i];
        }
    }
    const int t = add_tile(out, tile_kind::parameter, r.parameter, region, r.device, element::f32);
    out[t].elements = even_part(region.volume(), r.slices, r.slice).size();
    out[t].slice = r.slice;
    out[t].slices = r.slices;
    out[t].on_host = true;
    sync.host_parameters.push_back(t);
    return t;
}

TESSERA_INLINE void bring_down(const lowering_input& in, synchronization_places& sync, plan_writer& out,
                               reduced_slices& all, int number) {
    const reduced_slice& first = all[0];
    if (!in.state_on_host() || first.on_host >= 0) {
        return;
    }
    std::vector<int> made;
    for (reduced_slice& r : all) {
        made.push_back(add_slice_tile(out, r.parameter, r.copies[0].region, r.device, r.slice, r.slices));
        out[made.back()].on_host = true;
        r.on_host = host_parameter(sync, out, r);
    }
    task& t =
        add_task(out, task_kind::reduce, in.first_user[to_size(first.parameter)], pass::update, number, first.device);
    t.mutable_params().parameter = first.parameter;
    t.mutable_params().slice = first.slice;
    t.mutable_params().slices = first.slices;
    for (std::size_t i = 0; i < all.size(); ++i) {
        reduced_slice& r = all[i];
        t.reads.insert(t.reads.end(), r.from.begin(), r.from.end());
        t.writes.push_back(made[i]);
        if (all.size() > 1) {
            t.mutable_params().parts.push_back(
                {r.parameter, static_cast<int>(t.reads.size()), static_cast<int>(t.writes.size())});
        }
        r.from = {made[i]};
    }
}

TESSERA_INLINE bool crosses_devices(const plan_writer& out, const std::vector<int>& sources,
                                    const std::vector<piece>& copies) {
    return copies.size() > 1 ||
           std::any_of(sources.begin(), sources.end(), [&](int t) { return out[t].device != copies[0].device; });
}

TESSERA_INLINE std::vector<int> sum_for_host(const lowering_input& in, plan_writer& out, const reduced_slice& all) {
    const int members = static_cast<int>(all.copies.size());
    const int message = members > 1 ? out.message_count++ : -1;
    std::vector<int> sums;
    for (int i = 0; i < members; ++i) {
        const piece& c = all.copies[to_size(i)];
        sums.push_back(add_slice_tile(out, all.parameter, c.region, c.device, i, members));
        task& t = add_task(out, task_kind::reduce, in.first_user[to_size(all.parameter)], pass::update, i, c.device);
        t.mutable_params().parameter = all.parameter;
        t.mutable_params().slice = i;
        t.mutable_params().slices = members;
        t.mutable_params().message = message;
        t.reads = all.from;
        t.writes = {sums.back()};
        count_moved(out, t.reads, c.device, out[sums.back()].elements);
    }
    return sums;
}

TESSERA_INLINE void put_off(const lowering_input& in, synchronization_places& sync, plan_writer& out,
                            reduced_slices all) {
    bring_down(in, sync, out, all, static_cast<int>(sync.reduced.size()));
    sync.reduced.push_back(std::move(all));
}

TESSERA_INLINE void bring_up(const lowering_input& in, synchronization_places& sync, plan_writer& out) {
    const reduced_slices all = std::move(sync.stepped);
    sync.stepped.clear();
    std::vector<char> done(all.size(), 0);
    const auto same_copies = [](const reduced_slice& a, const reduced_slice& b) {
        return a.copies.size() == b.copies.size() &&
               std::equal(a.copies.begin(), a.copies.end(), b.copies.begin(),
                          [](const piece& x, const piece& y) { return x.tile == y.tile; });
    };
    for (std::size_t first = 0; first < all.size(); ++first) {
        std::vector<std::size_t> members;
        for (std::size_t i = first; i < all.size() && done[i] == 0 && done[first] == 0; ++i) {
            const auto there = [&](std::size_t k) { return all[k].device == all[i].device; };
            if (same_copies(all[first], all[i]) && std::none_of(members.begin(), members.end(), there)) {
                members.push_back(i);
            }
        }
        const bool complete = members.size() > 1 && members.size() == all[first].copies.size();
        const int message = complete ? out.message_count++ : -1;
        for (const std::size_t i : members) {
            const reduced_slice& r = all[i];
            done[i] = 1;
            task& t = add_task(out, task_kind::average, in.first_user[to_size(r.parameter)], pass::update,
                               static_cast<int>(i), r.device);
            t.mutable_params().parameter = r.parameter;
            t.mutable_params().slice = r.slice;
            t.mutable_params().slices = r.slices;
            t.mutable_params().message = message;
            t.reads = {r.on_host};
            for (const piece& c : r.copies) {
                t.writes.push_back(c.tile);
            }
            count_moved(out, t.writes, r.device, out[r.on_host].elements);
        }
    }
}

} // namespace tessera::lowering

#include "tessera/base/end_header.inl"
