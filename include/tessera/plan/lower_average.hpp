// SPDX-License-Identifier: Apache-2.0
// Lowering of updates by each copy's own gradients, and of the averages of copies that follow every few steps.
#pragma once

#include "tessera/plan/lowering.hpp"

namespace tessera::detail {

/// Every copy of a region by the contributions of its own device, times the number of copies; where one has none, or shards overlap, all sum.
template <class Options>
void lowering<Options>::update_copies(int parameter, const std::vector<piece>& copies) {
    const std::vector<int> sources = equal_parts(parameter_gradients_[at(parameter)], copies[0].region);
    std::vector<std::vector<int>> own(copies.size());
    std::size_t used = 0;
    for (std::size_t i = 0; i < copies.size(); ++i) {
        for (const int t : sources) {
            if (tile_at(t).device == copies[i].device) {
                own[i].push_back(t);
            }
        }
        used += own[i].size();
    }
    bool each = copies.size() > 1 && used == sources.size() && is_sliceable(parameter);
    for (const std::vector<int>& mine : own) {
        each = each && !mine.empty();
    }
    if (!each) {
        update_group(parameter, copies);
        return;
    }
    for (std::size_t i = 0; i < copies.size(); ++i) {
        task& t = add_task(task_kind::update, user_of(parameter), pass::update, static_cast<int>(i), copies[i].device);
        t.parameter = parameter;
        t.scale = static_cast<double>(copies.size());
        t.reads = own[i];
        t.writes = {copies[i].tile};
    }
    averaged_.emplace_back(parameter, copies);
}

/// Each member averages a slice and hands it to all.
template <class Options>
void lowering<Options>::average_copies() {
    const bool due = averages() && (step_ + 1) % s_.sync->average_every == 0;
    for (std::size_t k = 0; due && k < averaged_.size(); ++k) {
        const auto& [parameter, copies] = averaged_[k];
        const int members = static_cast<int>(copies.size());
        const int message = exchanges_++;
        for (int i = 0; i < members; ++i) {
            task& t = add_task(task_kind::average, user_of(parameter), pass::update, i, copies[at(i)].device);
            t.parameter = parameter;
            t.slice = i;
            t.slices = members;
            t.message = message;
            for (const piece& c : copies) {
                t.reads.push_back(c.tile);
            }
            t.writes = t.reads;
            const index_t size = even_part(copies[0].region.volume(), members, i).size();
            count_moved(t.reads, copies[at(i)].device, size);
            count_moved(t.writes, copies[at(i)].device, size);
        }
    }
    averaged_.clear();
}

} // namespace tessera::detail
