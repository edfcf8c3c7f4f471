// SPDX-License-Identifier: Apache-2.0
// Bodies of average.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/average.hpp"

namespace tessera::lowering {

TESSERA_INLINE void update_copies(const lowering_input& in, const network_places& net, synchronization_places& sync,
                                  plan_writer& out, int parameter, const std::vector<piece>& copies,
                                  gathered_list& sums) {
    const std::vector<int> sources = equal_parts(net.parameter_gradients[to_size(parameter)], copies[0].region);
    std::vector<std::vector<int>> own(copies.size());
    std::size_t used = 0;
    for (std::size_t i = 0; i < copies.size(); ++i) {
        for (const int t : sources) {
            if (out[t].device == copies[i].device) {
                own[i].push_back(t);
            }
        }
        used += own[i].size();
    }
    bool each = copies.size() > 1 && used == sources.size() && is_sliceable(net, parameter);
    for (const std::vector<int>& mine : own) {
        each = each && !mine.empty();
    }
    if (!each) {
        update_group(in, net, sync, out, parameter, copies, sums);
        return;
    }
    for (std::size_t i = 0; i < copies.size(); ++i) {
        task& t = add_task(out, task_kind::update, in.first_user[to_size(parameter)], pass::update, static_cast<int>(i),
                           copies[i].device);
        t.mutable_params().parameter = parameter;
        t.mutable_params().scale = static_cast<double>(copies.size());
        t.reads = own[i];
        t.writes = {copies[i].tile};
    }
    sync.averaged.emplace_back(parameter, copies);
}

TESSERA_INLINE void average_copies(const lowering_input& in, synchronization_places& sync, plan_writer& out) {
    const bool due = in.averages() && (out.step + 1) % in.s.sync->average_every == 0;
    for (std::size_t k = 0; due && k < sync.averaged.size(); ++k) {
        const auto& [parameter, copies] = sync.averaged[k];
        const int members = static_cast<int>(copies.size());
        const int message = out.message_count++;
        for (int i = 0; i < members; ++i) {
            const int device = copies[to_size(i)].device;
            task& t = add_task(out, task_kind::average, in.first_user[to_size(parameter)], pass::update, i, device);
            t.mutable_params().parameter = parameter;
            t.mutable_params().slice = i;
            t.mutable_params().slices = members;
            t.mutable_params().message = message;
            for (const piece& c : copies) {
                t.reads.push_back(c.tile);
            }
            t.writes = t.reads;
            const index_t size = even_part(copies[0].region.volume(), members, i).size();
            count_moved(out, t.reads, device, size);
            count_moved(out, t.writes, device, size);
        }
    }
    sync.averaged.clear();
}

} // namespace tessera::lowering

#include "tessera/base/end_header.inl"
