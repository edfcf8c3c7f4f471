// SPDX-License-Identifier: Apache-2.0
// Copies, sums of gradients and optimizer steps as calls. Within a GPU a call reads and writes the memory of any device of the plan;
// between GPUs NCCL carries whole tiles and slices.
#pragma once

#include "tessera/backend/cuda/compose.hpp"

#include "tessera/op/optimizer.hpp"

namespace tessera::cuda::detail {

/// Consecutive tasks on GPUs of their own that share collectives: the members of an update that writes slices to all copies, or
/// copies that all add up the same parts, one from each GPU.
struct shared_work {
    int first = -1; ///< task
    int members = 0;
    bool scatters = false; ///< an update whose contributions are one on each member's GPU
    bool contains(int task) const { return task >= first && task < first + members; }
    bool ends_with(int task) const { return members > 0 && task == first + members - 1; }
};

/// Where calls of a task that involve other GPUs go.
struct exchange_plan {
    const std::vector<int>& gpus; ///< of every device
    int (*rank_of)(const std::vector<int>& sorted, int gpu);
    std::vector<int> world; ///< all GPUs, sorted: ranks of the communicator for exchanges

    int gpu(int device) const { return gpus[static_cast<std::size_t>(device)]; }
    int rank(int device) const { return rank_of(world, gpu(device)); }
};

/// A call on a GPU's exchange stream, in group `group` of its task.
inline void add_exchange(composer& to, const exchange_plan& where, bool sends, int own, int peer, memory_use m,
                         element type, int group) {
    exchange e;
    e.sends = sends;
    e.peer = where.rank(peer);
    e.type = type;
    e.count = m.bytes / bytes_of(type);
    call& c = to.add(e, {m});
    c.lane = -1 - where.gpu(own); // made a number of a stream when the list is put together
    c.group = group;
    c.communicator = 0;
    c.rank = where.rank(own);
}

/// Source and target of one array on two GPUs.
inline void transfer(composer& to, const exchange_plan& where, memory_use from, int from_device, memory_use target,
                     int to_device, element type, int group) {
    from.write = false;
    target.write = true;
    add_exchange(to, where, true, from_device, to_device, from, type, group);
    add_exchange(to, where, false, to_device, from_device, target, type, group);
}

// ---- copies ----------------------------------------------------------------------------------------------------------

/// True where a copy adds whole tiles of f32 or bf16 on one GPU, which one kernel does in one pass.
inline bool sums_whole_tiles(const composer& c, const exchange_plan& where) {
    const task& t = c.what();
    const tile& target = c.tile_at(t.writes[0]);
    bool whole = t.segments.size() > 1 && !t.clear && t.reduce == reducer::sum &&
                 (target.type == element::f32 || target.type == element::bf16);
    for (std::size_t i = 0; i < t.segments.size() && whole; ++i) {
        const copy_segment& s = t.segments[i];
        const tile& source = c.tile_at(s.source);
        whole = source.device >= 0 && where.gpu(source.device) == where.gpu(t.device) && s.region == target.region &&
                source.region == target.region && s.overwrite == (i == 0);
    }
    return whole;
}

/// What the caller hands in for a tile of bf16 is of fp32: it goes as it is into scratch memory, and the GPU rounds it.
inline void compose_upload(composer& to, const copy_segment& s, int target) {
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
    kernel_numbers n;
    n.n[0] = x.elements;
    to.launch(kernel_id::round_to_bf16, {composer::as_read(numbers), to.write(target)}, n, x.elements);
}

inline void add_collective(composer& to, const exchange_plan& where, const collective& what,
                           const std::vector<int>& tiles, int group) {
    for (std::size_t i = 0; i < tiles.size(); ++i) {
        const tile& x = to.tile_at(tiles[i]);
        call& c = to.add(what, {to.write(tiles[i])});
        c.lane = -1 - where.gpu(x.device);
        c.group = group;
        c.communicator = -2; // the one of the tiles' GPUs, found when the list is put together
        c.rank = static_cast<int>(i);
    }
}

/// Every member copies its own part; the last one issues the all-reduce of the copies.
inline void compose_shared_sum(composer& to, const exchange_plan& where, const shared_work& work, int number) {
    const task& t = to.what();
    for (const copy_segment& s : t.segments) {
        if (to.tile_at(s.source).device == t.device) {
            to.add(memory_copy{}, {to.read(s.source), to.write(t.writes[0])});
        }
    }
    if (work.ends_with(number)) {
        std::vector<int> targets;
        for (int i = 0; i < work.members; ++i) {
            targets.push_back(to.of().tasks[static_cast<std::size_t>(work.first + i)].writes[0]);
        }
        const tile& x = to.tile_at(t.writes[0]);
        add_collective(to, where, {collective::kind::all_reduce, x.elements, x.type, t.reduce}, targets, 0);
    }
}

inline void compose_copy(composer& to, const exchange_plan& where, const shared_work& work, int number) {
    if (work.members > 0) {
        return compose_shared_sum(to, where, work, number);
    }
    const task& t = to.what();
    const int target = t.writes[0];
    const tile& x = to.tile_at(target);
    if (t.clear) {
        to.add(memory_clear{}, {to.write(target)});
    }
    if (sums_whole_tiles(to, where)) {
        std::vector<memory_use> memory{to.write(target)};
        for (const copy_segment& s : t.segments) {
            memory.push_back(to.read(s.source));
        }
        kernel_numbers n;
        n.n[0] = x.elements;
        n.n[1] = static_cast<index_t>(t.segments.size());
        kernel_launch k = composer::make(kernel_id::sum_slices, 1, n);
        k.type = x.type;
        k.blocks = composer::blocks_for(x.elements);
        to.add(static_cast<kernel_launch&&>(k), static_cast<std::vector<memory_use>&&>(memory));
        return;
    }
    for (const copy_segment& s : t.segments) {
        const tile& source = to.tile_at(s.source);
        if (source.device < 0) {
            compose_upload(to, s, target);
        } else if (where.gpu(source.device) != where.gpu(t.device)) {
            if (t.segments.size() != 1 || !(source.region == x.region) || !(s.region == x.region)) {
                throw error("tessera: a copy between GPUs of less than a whole tile; bind the plan to the CUDA backend "
                            "before it is put into calls");
            }
            transfer(to, where, to.read(s.source), source.device, to.write(target), t.device, x.type, 0);
        } else {
            to.copy(box_between(s.region, source.region, s.region, x.region), to.read(s.source), to.write(target),
                    x.type, s.overwrite, t.reduce);
        }
    }
}

/// The sum over micro-batches, in the order of what the task reads; the first of that may be what it writes.
inline void compose_sum(composer& to) {
    const task& t = to.what();
    const tile& x = to.tile_at(t.writes[0]);
    std::vector<memory_use> memory{to.write(t.writes[0])};
    for (int r : t.reads) {
        memory.push_back(to.read(r));
    }
    kernel_numbers n;
    n.n[0] = x.elements;
    n.n[1] = static_cast<index_t>(t.reads.size());
    kernel_launch k = composer::make(x.type == element::f64 ? kernel_id::sum_slices_f64 : kernel_id::sum_slices, 1, n);
    k.blocks = composer::blocks_for(x.elements);
    to.add(static_cast<kernel_launch&&>(k), static_cast<std::vector<memory_use>&&>(memory));
}

// ---- gradients and parameters ----------------------------------------------------------------------------------------

/// Sources of a reduction or an update on the task's own GPU: where they are, or received in scratch.
inline std::vector<memory_use> gather_slices(composer& to, const exchange_plan& where) {
    const task& t = to.what();
    std::vector<memory_use> sources;
    for (int r : t.reads) {
        const tile& x = to.tile_at(r);
        if (x.kind == tile_kind::scalar) {
            continue;
        }
        memory_use m = to.slice(r, slice_of(x, t), false);
        if (where.gpu(x.device) != where.gpu(t.device)) {
            memory_use received = to.take(m.bytes);
            transfer(to, where, m, x.device, received, t.device, element::f32, 0);
            m = composer::as_read(received);
        }
        sources.push_back(m);
    }
    return sources;
}

/// Copies floats to a device on the same GPU or another.
inline void send_part(composer& to, const exchange_plan& where, memory_use from, int from_device, memory_use target,
                      int to_device) {
    if (where.gpu(from_device) == where.gpu(to_device)) {
        from.write = false;
        target.write = true;
        to.add(memory_copy{}, {from, target});
    } else {
        transfer(to, where, from, from_device, target, to_device, element::f32, 1);
    }
}

/// Slices of a parameter, joined.
inline void compose_gather(composer& to, const exchange_plan& where) {
    const task& t = to.what();
    index_t begin = 0;
    for (int r : t.reads) {
        const tile& x = to.tile_at(r);
        const interval part{begin, begin + x.elements};
        begin = part.end;
        if (!part.empty()) {
            send_part(to, where, to.read(r), x.device, to.slice(t.writes[0], part, true), t.device);
        }
    }
}

inline kernel_launch update_launch(const optimizer& how, index_t elements) {
    kernel_numbers n;
    n.n[0] = elements;
    n.n[4] = how.state_count() > 0 ? 1 : 0;
    n.f[0] = static_cast<double>(how.momentum);
    n.f[1] = static_cast<double>(how.weight_decay);
    n.f[2] = static_cast<double>(how.beta1);
    n.f[3] = static_cast<double>(how.beta2);
    n.f[4] = static_cast<double>(how.epsilon);
    n.f[5] = static_cast<double>(how.clip_norm);
    n.f[6] = static_cast<double>(how.loss_scale);
    kernel_launch k =
        composer::make(how.which == optimizer::kind::adam ? kernel_id::adam_update : kernel_id::sgd_update, 1, n);
    k.blocks = composer::blocks_for(elements);
    k.reads_step = true;
    return k;
}

/// The contribution that lies with copy `i` of the parameter.
inline std::vector<int> contributions_by_copy(const composer& to) {
    const task& t = to.what();
    std::vector<int> result;
    for (int w : t.writes) {
        for (int r : t.reads) {
            if (to.tile_at(r).kind != tile_kind::scalar && to.tile_at(r).device == to.tile_at(w).device) {
                result.push_back(r);
            }
        }
    }
    return result;
}

/// Sums the contributions' slice and updates it in all copies. `group`: the members' copies are on GPUs of their own; the first
/// member issues the reduce-scatter of the contributions, the last the all-gather of the results.
inline void compose_update(composer& to, const exchange_plan& where, const optimizer& how, const shared_work& group,
                           int number) {
    const task& t = to.what();
    const interval slice = slice_of(to.tile_at(t.writes[0]), t);
    if (slice.empty()) {
        return;
    }
    const bool shares = group.members > 0;
    std::vector<memory_use> sources;
    if (shares && group.scatters) {
        const std::vector<int> own = contributions_by_copy(to);
        if (number == group.first) {
            add_collective(to, where, {collective::kind::reduce_scatter, slice.size()}, own, 0);
        }
        sources = {to.slice(own[static_cast<std::size_t>(t.slice)], slice, false)};
    } else {
        sources = gather_slices(to, where);
    }
    std::vector<memory_use> near;
    std::vector<int> far;
    for (int w : t.writes) {
        const int device = to.tile_at(w).device;
        if (device == t.device) {
            near.insert(near.begin(), to.slice(w, slice, true));
        } else if (where.gpu(device) == where.gpu(t.device)) {
            near.push_back(to.slice(w, slice, true));
        } else {
            far.push_back(w);
        }
    }
    kernel_launch k = update_launch(how, slice.size());
    k.numbers.n[1] = static_cast<index_t>(sources.size());
    k.numbers.n[2] = static_cast<index_t>(near.size());
    k.numbers.n[3] = static_cast<index_t>(t.norms.size());
    const memory_use result = composer::as_read(near[0]);
    std::vector<memory_use> memory{t.state >= 0 ? to.write(t.state) : result};
    memory.insert(memory.end(), sources.begin(), sources.end());
    memory.insert(memory.end(), near.begin(), near.end());
    for (int n : t.norms) {
        memory.push_back(to.read(n));
    }
    to.add(static_cast<kernel_launch&&>(k), static_cast<std::vector<memory_use>&&>(memory));
    if (!shares) {
        for (int w : far) {
            transfer(to, where, result, t.device, to.slice(w, slice, true), to.tile_at(w).device, element::f32, 1);
        }
    } else if (group.ends_with(number)) {
        add_collective(to, where, {collective::kind::all_gather, slice.size()}, t.writes, 1);
    }
}

/// Sums a slice into all targets, and its squares, if they are wanted, without those that another task counts.
inline void compose_reduce(composer& to, const exchange_plan& where) {
    const task& t = to.what();
    const int target = t.writes[0];
    const tile& x = to.tile_at(target);
    const interval slice = slice_of(x, t);
    if (slice.empty()) {
        for (int n : t.norms) {
            to.add(memory_clear{}, {to.write(n)});
        }
        return;
    }
    const std::vector<memory_use> sources = gather_slices(to, where);
    const bool own = x.device == t.device; // else the sum goes through scratch memory
    const memory_use sum = own ? to.slice(target, slice, true) : to.take(slice.size() * 4);
    kernel_numbers n;
    n.n[0] = slice.size();
    n.n[1] = static_cast<index_t>(sources.size());
    kernel_launch add = composer::make(kernel_id::sum_slices, 1, n);
    add.blocks = composer::blocks_for(slice.size());
    std::vector<memory_use> memory{sum};
    memory.insert(memory.end(), sources.begin(), sources.end());
    to.add(static_cast<kernel_launch&&>(add), static_cast<std::vector<memory_use>&&>(memory));
    for (int w : t.writes) {
        const tile& y = to.tile_at(w);
        if (y.kind != tile_kind::scalar && (w != target || !own)) {
            send_part(to, where, composer::as_read(sum), t.device, to.slice(w, slice_of(y, t), true), y.device);
        }
    }
    if (t.norms.empty()) {
        return;
    }
    const memory_use norm = to.write(t.norms[0]);

    constexpr int most = 256;
    const int blocks = composer::blocks_for(slice.size()) < most ? composer::blocks_for(slice.size()) : most;
    const memory_use partial = to.take(blocks * index_t{8});
    n.n[1] = x.slices > 1 ? even_part(x.region.volume(), t.slices, t.slice).begin : slice.begin;
    n.n[2] = static_cast<index_t>(t.counted_elsewhere.size());
    kernel_launch squares = composer::make(kernel_id::squares_partial, 2, n);
    squares.blocks = blocks;
    squares.constants.assign(10 + 10 * t.counted_elsewhere.size(), 0);
    for (int k = 0; k < 5; ++k) {
        const int d = x.region.rank - 5 + k; // missing dimensions come first
        squares.constants[static_cast<std::size_t>(k)] = d < 0 ? 1 : x.region.dim[d].size();
        squares.constants[static_cast<std::size_t>(5 + k)] = d < 0 ? 0 : x.region.dim[d].begin;
        for (std::size_t b = 0; b < t.counted_elsewhere.size(); ++b) {
            const box& other = t.counted_elsewhere[b];
            const std::size_t at = 10 + b * 10 + static_cast<std::size_t>(k);
            squares.constants[at] = d < 0 ? 0 : other.dim[d].begin;
            squares.constants[at + 5] = d < 0 ? 1 : other.dim[d].end;
        }
    }
    to.add(static_cast<kernel_launch&&>(squares), {composer::as_read(sum), partial});
    kernel_numbers total;
    total.n[0] = blocks;
    kernel_launch last = composer::make(kernel_id::squares_total, 2, total);
    last.threads = 64;
    to.add(static_cast<kernel_launch&&>(last), {composer::as_read(partial), norm});
}

} // namespace tessera::cuda::detail
