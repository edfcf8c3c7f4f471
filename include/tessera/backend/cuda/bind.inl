// SPDX-License-Identifier: Apache-2.0
// Bodies of bind.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/bind.hpp"

#include <utility>

namespace tessera::cuda::detail {

TESSERA_INLINE void binder::run() {
    issue_from_one_list(p_);
    if (p_.steps_per_plan > 1) {
        throw error("tessera: the CUDA backend runs plans of one step, not of " + std::to_string(p_.steps_per_plan) +
                    "; set the strategy's period to 1");
    }
    p_.alignment = gpu_alignment;
    for (const task& t : p_.tasks) {
        if (t.kind() == task_kind::compute) {
            (void)offered_row(g_, t.op, t.what);
        }
    }
    whole_tiles(p_, g_).run();
    merger(p_, g_).run(o_.fuse);
    nonfinite_counter(p_, g_).run();
    std::vector<task> old = std::move(p_.tasks);
    p_.tasks.clear();
    bool norms_are_there = false;
    std::size_t layer_norms_until = 0; // updates before it have them
    std::vector<char> placed(old.size(), 0);
    for (std::size_t i = 0; i < old.size(); ++i) {
        task& t = old[i];
        if (placed[i] != 0) {
            continue;
        }
        if (t.kind() == task_kind::copy) {
            if (place_shared_sum(old, i, placed)) {
                continue;
            }
            bring_sources(t);
        } else if (t.kind() == task_kind::update || t.kind() == task_kind::norm) {
            if (!t.params().norms.empty() && !norms_are_there) { // before the first of them, so that the members of an
                for (std::size_t k = i; k < old.size(); ++k) {   // update stay together
                    if (old[k].has_params()) {
                        bring_norms(old[k], old[k].mutable_params().norms);
                    }
                }
                norms_are_there = true;
            }
            if (i >= layer_norms_until) { // before the first of the updates that follow each other
                for (layer_norms_until = i; layer_norms_until < old.size() && is_update(old[layer_norms_until]);
                     ++layer_norms_until) {
                    bring_norms(old[layer_norms_until], old[layer_norms_until].mutable_params().layer_norms);
                }
            }
        }
        p_.tasks.push_back(std::move(t));
    }
    bind_scratch();
}

TESSERA_INLINE bool binder::is_far(int source, int device) const {
    const int from = p_.tiles[to_size(source)].device;
    return from >= 0 && where_.gpu(from) != where_.gpu(device);
}

TESSERA_INLINE bool binder::place_shared_sum(std::vector<task>& old, std::size_t first, std::vector<char>& placed) {
    if (!sums_over_gpus(p_, old[first], o_.gpus)) {
        return false;
    }
    std::vector<std::size_t> members{first};
    for (std::size_t i = first + 1; i < old.size() && members.size() < old[first].copy().segments.size(); ++i) {
        if (placed[i] == 0 && sum_alike(old[first], old[i]) && sums_over_gpus(p_, old[i], o_.gpus)) {
            members.push_back(i);
        }
    }
    std::vector<int> devices;
    for (std::size_t i : members) {
        devices.push_back(old[i].device);
    }
    std::sort(devices.begin(), devices.end());
    if (members.size() != old[first].copy().segments.size() ||
        std::adjacent_find(devices.begin(), devices.end()) != devices.end()) {
        return false;
    }
    for (std::size_t i : members) {
        placed[i] = 1;
        p_.tasks.push_back(std::move(old[i]));
    }
    return true;
}

TESSERA_INLINE int binder::add_part(int source, const box& region, int device) {
    tile x = p_.tiles[to_size(source)];
    x.origin = x.origin >= 0 ? x.origin : source;
    x.region = region;
    x.device = device;
    x.alias = -1;
    x.keep = false;
    x.elements = region.volume();
    x.bytes = 0;
    x.offset = -1;
    p_.tiles.push_back(x);
    return static_cast<int>(p_.tiles.size()) - 1;
}

TESSERA_INLINE void binder::add_copy(const task& like, int device, int source, int target) {
    task t;
    t.become(task_kind::copy);
    t.op = like.op;
    t.what = like.what;
    t.shard_number = like.shard_number;
    t.micro_batch = like.micro_batch;
    t.step = like.step;
    t.side_stream = like.side_stream;
    t.device = device;
    t.reads = {source};
    t.writes = {target};
    t.mutable_copy().segments = {{source, p_.tiles[to_size(target)].region, true}};
    p_.tasks.push_back(std::move(t));
}

TESSERA_INLINE void binder::bring_sources(task& t) {
    const bool alone = t.copy().segments.size() == 1 && !t.copy().clear;
    for (copy_segment& s : t.mutable_copy().segments) {
        if (!is_far(s.source, t.device)) {
            continue;
        }
        if (!(p_.tiles[to_size(s.source)].region == s.region)) {
            const int packed = add_part(s.source, s.region, p_.tiles[to_size(s.source)].device);
            add_copy(t, p_.tiles[to_size(packed)].device, s.source, packed);
            s.source = packed;
        }
        if (!(alone && p_.tiles[to_size(t.writes[0])].region == s.region)) {
            const int arrived = add_part(s.source, s.region, t.device);
            add_copy(t, t.device, s.source, arrived);
            s.source = arrived;
        }
    }
    t.reads.clear();
    for (const copy_segment& s : t.copy().segments) {
        t.reads.push_back(s.source);
    }
}

TESSERA_INLINE void binder::bring_norms(task& t, std::vector<int>& norms) {
    if (!is_update(t) && t.kind() != task_kind::norm) {
        return;
    }
    for (int& n : norms) {
        if (!is_far(n, t.device)) {
            continue;
        }
        int own = -1;
        for (const auto& [source, device, tile_number] : norms_) {
            own = source == n && device == t.device ? tile_number : own;
        }
        if (own < 0) {
            own = add_part(n, p_.tiles[to_size(n)].region, t.device);
            add_copy(t, t.device, n, own);
            norms_.push_back({n, t.device, own});
        }
        for (int& r : t.reads) {
            r = r == n ? own : r;
        }
        n = own;
    }
}

TESSERA_INLINE void binder::bind_scratch() {
    const std::vector<shared_work> shared = find_shared_work(p_, o_.gpus);
    for (std::size_t i = 0; i < p_.tasks.size(); ++i) {
        composer c(p_, p_.tasks[i], o_.fuse);
        compose_task(c, static_cast<int>(i), g_, where_, o_.update, shared[i], algorithms_);
        if (c.scratch_bytes() > 0) {
            p_.tasks[i].scratch = add_scratch(p_, p_.tasks[i].device, c.scratch_bytes());
        }
    }
}

} // namespace tessera::cuda::detail

namespace tessera::cuda {

TESSERA_INLINE void bind(plan& p, const graph_view& g, const list_options& o, algorithm_table& algorithms) {
    if (static_cast<int>(o.gpus.size()) < p.devices) {
        throw error("tessera: the plan has " + std::to_string(p.devices) + " devices and only " +
                    std::to_string(o.gpus.size()) + " are placed on GPUs");
    }
    detail::binder(p, g, o, algorithms).run();
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
