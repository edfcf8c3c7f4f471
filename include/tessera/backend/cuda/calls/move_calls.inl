// SPDX-License-Identifier: Apache-2.0
// Bodies of move_calls.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/move_calls.hpp"

#include <utility>

namespace tessera::cuda::detail {

TESSERA_INLINE void add_point_to_point(composer& to, const gpu_ranks& where, bool sends, int own, int peer,
                                       memory_use m, element type, int group) {
    point_to_point e;
    e.sends = sends;
    e.peer = where.rank(peer);
    e.type = type;
    e.count = m.bytes / bytes_of(type);
    call& c = to.add(e, {m});
    c.stream = -1 - where.gpu(own); // made a number of a stream when the list is put together
    c.group = group;
    c.communicator = 0;
    c.rank = where.rank(own);
}

TESSERA_INLINE void transfer(composer& to, const gpu_ranks& where, memory_use from, int from_device, memory_use target,
                             int to_device, element type, int group) {
    from.write = false;
    target.write = true;
    add_point_to_point(to, where, true, from_device, to_device, from, type, group);
    add_point_to_point(to, where, false, to_device, from_device, target, type, group);
}

TESSERA_INLINE bool sums_whole_tiles(const composer& c, const gpu_ranks& where) {
    const task& t = c.what();
    const tile& target = c.tile_at(t.writes[0]);
    bool whole = t.copy().segments.size() > 1 && !t.copy().clear && t.copy().reduce == reducer::sum &&
                 (target.type == element::f32 || target.type == element::bf16);
    for (std::size_t i = 0; i < t.copy().segments.size() && whole; ++i) {
        const copy_segment& s = t.copy().segments[i];
        const tile& source = c.tile_at(s.source);
        whole = source.device >= 0 && where.gpu(source.device) == where.gpu(t.device) && s.region == target.region &&
                source.region == target.region && s.overwrite == (i == 0);
    }
    return whole;
}

TESSERA_INLINE void compose_upload(composer& to, const copy_segment& s, int target) {
    const tile& source = to.tile_at(s.source);
    const tile& x = to.tile_at(target);
    if (!(s.region == x.region) || !s.overwrite) {
        throw error("tessera: an input is copied to a part of a tile; the CUDA backend copies inputs whole");
    }
    upload u;
    u.tensor = source.tensor;
    u.what = box_copy(s.region, source.region, x.region);
    if (x.type != element::bf16) {
        u.type = x.type;
        to.add(u, {to.write(target)});
        return;
    }
    const memory_use numbers = to.take(x.elements * bytes_of(element::f32));
    to.add(u, {numbers});
    to.launch(kernels::round_to_bf16, {composer::as_read(numbers), to.write(target)},
              kernel_numbers(kernels::count_numbers{.count = x.elements}), x.elements);
}

TESSERA_INLINE void add_collective(composer& to, const gpu_ranks& where, const collective& what,
                                   const std::vector<int>& tiles, int group) {
    for (std::size_t i = 0; i < tiles.size(); ++i) {
        const tile& x = to.tile_at(tiles[i]);
        call& c = to.add(what, {to.write(tiles[i])});
        c.stream = -1 - where.gpu(x.device);
        c.group = group;
        c.communicator = -2; // the one of the tiles' GPUs, found when the list is put together
        c.rank = static_cast<int>(i);
    }
}

TESSERA_INLINE void compose_shared_sum(composer& to, const gpu_ranks& where, const shared_work& work, int number) {
    const task& t = to.what();
    for (const copy_segment& s : t.copy().segments) {
        if (to.tile_at(s.source).device == t.device) {
            to.add(memory_copy{}, {to.read(s.source), to.write(t.writes[0])});
        }
    }
    if (work.ends_with(number)) {
        std::vector<int> targets;
        for (int i = 0; i < work.members; ++i) {
            targets.push_back(to.of().tasks[to_size(work.first + i)].writes[0]);
        }
        const tile& x = to.tile_at(t.writes[0]);
        add_collective(to, where, {collective::kind::all_reduce, x.elements, x.type, t.copy().reduce}, targets, 0);
    }
}

TESSERA_INLINE void compose_copy(composer& to, const gpu_ranks& where, const shared_work& work, int number) {
    if (work.members > 0) {
        return compose_shared_sum(to, where, work, number);
    }
    const task& t = to.what();
    const int target = t.writes[0];
    const tile& x = to.tile_at(target);
    if (t.copy().clear) {
        to.add(memory_clear{}, {to.write(target)});
    }
    if (sums_whole_tiles(to, where)) {
        std::vector<memory_use> memory{to.write(target)};
        for (const copy_segment& s : t.copy().segments) {
            memory.push_back(to.read(s.source));
        }
        const kernels::sum_numbers n{.count = x.elements, .sources = static_cast<index_t>(t.copy().segments.size())};
        kernel_launch k = composer::make(kernels::sum_slices, 1, kernel_numbers(n));
        k.type = x.type;
        k.blocks = composer::blocks_for(x.elements);
        to.add(std::move(k), std::move(memory));
        return;
    }
    for (const copy_segment& s : t.copy().segments) {
        const tile& source = to.tile_at(s.source);
        if (source.device < 0) {
            compose_upload(to, s, target);
        } else if (source.on_host || x.on_host) { // a whole tile
            to.add(memory_copy{x.on_host ? memory_copy::way::to_host : memory_copy::way::from_host},
                   {to.read(s.source), to.write(target)});
        } else if (where.gpu(source.device) != where.gpu(t.device)) {
            if (t.copy().segments.size() != 1 || !(source.region == x.region) || !(s.region == x.region)) {
                throw error("tessera: a copy between GPUs of less than a whole tile; bind the plan to the CUDA backend "
                            "before it is put into calls");
            }
            transfer(to, where, to.read(s.source), source.device, to.write(target), t.device, x.type, 0);
        } else {
            to.copy(box_between(s.region, source.region, s.region, x.region), to.read(s.source), to.write(target),
                    x.type, s.overwrite, t.copy().reduce);
        }
    }
}

TESSERA_INLINE void compose_sum(composer& to) {
    const task& t = to.what();
    const tile& x = to.tile_at(t.writes[0]);
    std::vector<memory_use> memory{to.write(t.writes[0])};
    for (int r : t.reads) {
        memory.push_back(to.read(r));
    }
    const kernels::sum_numbers n{.count = x.elements, .sources = static_cast<index_t>(t.reads.size())};
    kernel_launch k =
        composer::make(x.type == element::f64 ? kernels::sum_slices_f64 : kernels::sum_slices, 1, kernel_numbers(n));
    k.blocks = composer::blocks_for(x.elements);
    to.add(std::move(k), std::move(memory));
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
