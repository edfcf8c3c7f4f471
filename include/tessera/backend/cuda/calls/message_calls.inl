// SPDX-License-Identifier: Apache-2.0
// Bodies of message_calls.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/message_calls.hpp"

#include <utility>

namespace tessera::cuda::detail {

TESSERA_INLINE std::vector<task> parts_with_elements(const composer& c) {
    std::vector<task> all;
    for_each_part(c.what(), [&](const task& one) {
        if (!slice_of(c.tile_at(one.writes[0]), one).empty()) {
            all.push_back(one);
        }
    });
    return all;
}

TESSERA_INLINE std::vector<memory_use> contributions(composer& c, const gpu_ranks& where, const shared_work& work,
                                                     const task& one) {
    std::vector<memory_use> all;
    for (int r : one.reads) {
        const tile& x = c.tile_at(r);
        const bool summed = work.sums == crossing::collective; // in place
        if (x.kind == tile_kind::scalar || (summed && x.device != one.device)) {
            continue;
        }
        memory_use m = c.slice(r, slice_of(x, one), false);
        if (where.gpu(x.device) != where.gpu(one.device)) {
            m = c.take(m.bytes);
        }
        all.push_back(m);
    }
    return all;
}

TESSERA_INLINE std::vector<index_t> bounds_of(const tile& whole, const task& leader, int members) {
    std::vector<index_t> all;
    for (int i = 0; i < members; ++i) {
        all.push_back(even_part(whole.elements, leader.params().slices, leader.params().slice + i).begin);
    }
    all.push_back(even_part(whole.elements, leader.params().slices, leader.params().slice + members - 1).end);
    return all;
}

TESSERA_INLINE void add_member(composer& to, const gpu_ranks& where, const collective& what,
                               std::vector<memory_use> memory, int device, std::size_t rank, int group) {
    call& c = to.add(what, std::move(memory));
    c.stream = -1 - where.gpu(device);
    c.group = group;
    c.communicator = -2; // the one of the members' GPUs, found when the list is put together
    c.rank = static_cast<int>(rank);
}

TESSERA_INLINE void add_slices(composer& to, const gpu_ranks& where, bool gathers, const std::vector<int>& tiles,
                               const std::vector<index_t>& bounds, int group) {
    using kind = collective::kind;
    bool equal = true;
    for (std::size_t i = 0; i < tiles.size(); ++i) {
        equal = equal && bounds[i + 1] - bounds[i] == bounds[1] - bounds[0];
    }
    if (equal) {
        for (std::size_t r = 0; r < tiles.size(); ++r) {
            add_member(to, where, {gathers ? kind::all_gather : kind::reduce_scatter, bounds[1] - bounds[0]},
                       {to.slice(tiles[r], {bounds.front(), bounds.back()}, true)}, to.tile_at(tiles[r]).device, r,
                       group);
        }
        return;
    }
    for (std::size_t root = 0; root < tiles.size(); ++root) {
        const interval slice{bounds[root], bounds[root + 1]};
        for (std::size_t r = 0; r < tiles.size() && !slice.empty(); ++r) {
            collective what{gathers ? kind::broadcast : kind::reduce, slice.size()};
            what.root = static_cast<int>(root);
            add_member(to, where, what, {to.slice(tiles[r], slice, gathers != (r == root))},
                       to.tile_at(tiles[r]).device, r, group);
        }
    }
}

TESSERA_INLINE const task& member_of(const composer& to, const shared_work& work, int i) {
    return to.of().tasks[to_size(work.first + i)];
}

TESSERA_INLINE int tile_on(const composer& to, const std::vector<int>& tiles, int device) {
    for (const int t : tiles) {
        if (to.tile_at(t).kind != tile_kind::scalar && to.tile_at(t).device == device) {
            return t;
        }
    }
    throw error("tessera: a member of a collective has no tile on device " + std::to_string(device));
}

TESSERA_INLINE void add_sums(composer& to, const gpu_ranks& where, const shared_work& work) {
    if (work.sums == crossing::transfers) {
        for (int i = 0; i < work.members; ++i) {
            composer other(to.of(), member_of(to, work, i)); // takes scratch memory as that member will
            for (const task& one : parts_with_elements(other)) {
                const std::vector<memory_use> arrive = contributions(other, where, work, one);
                std::size_t next = 0;
                for (int r : one.reads) {
                    const tile& x = to.tile_at(r);
                    if (x.kind == tile_kind::scalar) {
                        continue;
                    }
                    const memory_use target = arrive[next++];
                    if (where.gpu(x.device) != where.gpu(one.device)) {
                        transfer(to, where, to.slice(r, slice_of(x, one), false), x.device, target, one.device,
                                 element::f32, 0);
                    }
                }
            }
        }
        return;
    }
    for_each_part(to.what(), [&](const task& one) {
        std::vector<int> from;
        std::vector<int> sums;
        for (int i = 0; i < work.members; ++i) {
            const int device = member_of(to, work, i).device;
            from.push_back(tile_on(to, one.reads, device));
            sums.push_back(work.sums == crossing::all_reduce ? tile_on(to, one.writes, device) : -1);
        }
        const std::vector<index_t> bounds = bounds_of(to.tile_at(from[0]), one, work.members);
        if (work.sums == crossing::collective) {
            return add_slices(to, where, false, from, bounds, 0);
        }
        const interval all{bounds.front(), bounds.back()};
        for (std::size_t r = 0; r < from.size() && !all.empty(); ++r) {
            add_member(to, where, {collective::kind::all_reduce, all.size()},
                       {to.slice(from[r], all, false), to.slice(sums[r], all, true)}, to.tile_at(from[r]).device, r, 0);
        }
    });
}

TESSERA_INLINE void add_shares(composer& to, const gpu_ranks& where, const shared_work& work) {
    if (work.shares == crossing::none) {
        return;
    }
    if (work.shares == crossing::collective) {
        for_each_part(member_of(to, work, 0), [&](const task& one) {
            std::vector<int> copies;
            for (int i = 0; i < work.members; ++i) {
                copies.push_back(tile_on(to, one.writes, member_of(to, work, i).device));
            }
            add_slices(to, where, true, copies, bounds_of(to.tile_at(copies[0]), one, work.members), 1);
        });
        return;
    }
    for (int i = 0; i < work.members; ++i) {
        const composer other(to.of(), member_of(to, work, i));
        for (const task& one : parts_with_elements(other)) {
            for (int w : one.writes) {
                const tile& x = to.tile_at(w);
                if (x.kind != tile_kind::scalar && where.gpu(x.device) != where.gpu(one.device)) {
                    const int own = tile_on(to, one.writes, one.device);
                    transfer(to, where, to.slice(own, slice_of(to.tile_at(own), one), false), one.device,
                             to.slice(w, slice_of(x, one), true), x.device, element::f32, 1);
                }
            }
        }
    }
}

TESSERA_INLINE std::vector<memory_use> near_targets(const composer& to, const gpu_ranks& where, const task& one) {
    std::vector<memory_use> near;
    for (int w : one.writes) {
        const tile& x = to.tile_at(w);
        if (x.kind == tile_kind::scalar || where.gpu(x.device) != where.gpu(one.device)) {
            continue;
        }
        const memory_use m = to.slice(w, slice_of(x, one), true);
        if (x.device == one.device) {
            near.insert(near.begin(), m);
        } else {
            near.push_back(m);
        }
    }
    return near;
}

TESSERA_INLINE kernel_launch update_launch(const update_rule& update, index_t elements) {
    kernels::step_numbers n{.count = elements,
                            .has_states = update.own_state_count() > 0 ? 1 : 0,
                            .variant = update.nesterov || update.centered ? 1 : 0,
                            .decoupled = update.decoupled ? 1 : 0,
                            .has_momentum = update.which == update_rule::kind::rmsprop && update.momentum != 0 ? 1 : 0,
                            .prunes = update.prunes ? 1 : 0};
    kernels::step_reals reals{.momentum = static_cast<double>(update.momentum),
                              .weight_decay = static_cast<double>(update.weight_decay),
                              .beta1 = static_cast<double>(update.beta1),
                              .beta2 = static_cast<double>(update.beta2),
                              .epsilon = static_cast<double>(update.epsilon),
                              .clip_norm = static_cast<double>(update.clip_norm),
                              .loss_scale = static_cast<double>(update.loss_scale),
                              .rate_factor = static_cast<double>(update.rate_factor),
                              .clip_value = static_cast<double>(update.clip_value),
                              .average = static_cast<double>(update.average)};
    if (update.is_layerwise()) {
        const bool of_gradient = update.trust == trust_by::gradient;
        n.trust = of_gradient ? 1 : 2;
        reals.trust_coefficient = static_cast<double>(update.trust_coefficient);
        reals.trust_decay = of_gradient ? static_cast<double>(update.weight_decay) : 0; // as settings_in() has them
        reals.trust_epsilon = of_gradient ? static_cast<double>(update.epsilon) : 0;
    }
    kernel_launch k = composer::make(update.which == update_rule::kind::adam      ? kernels::adam_update
                                     : update.which == update_rule::kind::rmsprop ? kernels::rmsprop_update
                                                                                  : kernels::sgd_update,
                                     1, kernel_numbers(n, reals));
    k.blocks = composer::blocks_for(elements);
    k.reads_step = true;
    return k;
}

TESSERA_INLINE void compose_update(composer& to, const graph_view& g, const gpu_ranks& where, const optimizer& update,
                                   const shared_work& work, int number) {
    if (work.starts_with(number)) {
        add_sums(to, where, work);
    }
    for (const task& t : parts_with_elements(to)) {
        const std::vector<memory_use> sources = contributions(to, where, work, t);
        const std::vector<memory_use> near = near_targets(to, where, t);
        kernel_launch k = update_launch(rule_for(update, g, t.params().parameter), near[0].bytes / 4);
        auto numbers = k.numbers.as<kernels::step_numbers>();
        numbers.sources = static_cast<index_t>(sources.size());
        numbers.targets = static_cast<index_t>(near.size());
        numbers.norms = static_cast<index_t>(t.params().norms.size());
        numbers.parts = static_cast<index_t>(t.params().layer_norms.size());
        std::vector<memory_use> memory{t.params().state >= 0 ? to.write(t.params().state) : composer::as_read(near[0])};
        for (memory_use m : sources) {
            memory.push_back(composer::as_read(m));
        }
        memory.insert(memory.end(), near.begin(), near.end());
        for (int n : t.params().norms) {
            memory.push_back(to.read(n));
        }
        for (int n : t.params().layer_norms) {
            memory.push_back(to.read(n));
        }
        if (const int flag = to.what().nonfinite_count; flag >= 0) {
            numbers.has_flag = 1;
            memory.push_back(to.read(flag));
        }
        k.numbers.set(numbers);
        to.add(std::move(k), std::move(memory));
    }
    if (work.ends_with(number)) {
        add_shares(to, where, work);
    }
}

TESSERA_INLINE std::vector<index_t> counted_boxes(const box& region, const std::vector<box>& elsewhere) {
    std::vector<index_t> all(10 + 10 * elsewhere.size(), 0);
    for (int k = 0; k < 5; ++k) {
        const int d = region.rank - 5 + k;
        all[to_size(k)] = d < 0 ? 1 : region.dim[d].size();
        all[to_size(5 + k)] = d < 0 ? 0 : region.dim[d].begin;
        for (std::size_t b = 0; b < elsewhere.size(); ++b) {
            const std::size_t at = 10 + b * 10 + to_size(k);
            all[at] = d < 0 ? 0 : elsewhere[b].dim[d].begin;
            all[at + 5] = d < 0 ? 1 : elsewhere[b].dim[d].end;
        }
    }
    return all;
}

TESSERA_INLINE int blocks_of_squares(index_t elements) {
    constexpr int most = 256;
    return composer::blocks_for(elements) < most ? composer::blocks_for(elements) : most;
}

TESSERA_INLINE void compose_squares(composer& to, const task& t, memory_use sum) {
    const tile& x = to.tile_at(t.writes[0]);
    const interval slice = slice_of(x, t);
    const memory_use norm = to.write(t.params().norms[0]);

    const int blocks = blocks_of_squares(slice.size());
    const memory_use partial = to.take(blocks * index_t{8});
    const kernels::squares_numbers n{
        .count = slice.size(),
        .first = x.slices > 1 ? even_part(x.region.volume(), t.params().slices, t.params().slice).begin : slice.begin,
        .boxes = static_cast<index_t>(t.params().counted_elsewhere.size())};
    kernel_launch squares = composer::make(kernels::squares_partial, 2, kernel_numbers(n));
    squares.blocks = blocks;
    squares.constants = counted_boxes(x.region, t.params().counted_elsewhere);
    to.add(std::move(squares), {sum, partial});
    kernel_launch last =
        composer::make(kernels::squares_total, 2, kernel_numbers(kernels::count_numbers{.count = blocks}));
    last.threads = 64;
    to.add(std::move(last), {composer::as_read(partial), norm});
}

TESSERA_INLINE void bring_down(composer& to, const std::vector<memory_use>& sources, memory_use target) {
    memory_use sum = composer::as_read(sources[0]);
    if (sources.size() > 1) {
        sum = to.take(target.bytes);
        const kernels::sum_numbers n{.count = target.bytes / 4, .sources = static_cast<index_t>(sources.size())};
        kernel_launch add = composer::make(kernels::sum_slices, 1, kernel_numbers(n));
        add.blocks = composer::blocks_for(n.count);
        std::vector<memory_use> memory{sum};
        for (memory_use m : sources) {
            memory.push_back(composer::as_read(m));
        }
        to.add(std::move(add), std::move(memory));
    }
    to.add(memory_copy{memory_copy::way::to_host}, {composer::as_read(sum), target});
}

TESSERA_INLINE void compose_bringing_up(composer& to, const gpu_ranks& where, const shared_work& work, int number) {
    for (const task& t : parts_with_elements(to)) {
        const std::vector<memory_use> near = near_targets(to, where, t);
        to.add(memory_copy{memory_copy::way::from_host}, {to.read(t.reads[0]), near[0]});
        for (std::size_t i = 1; i < near.size(); ++i) {
            to.add(memory_copy{}, {composer::as_read(near[0]), near[i]});
        }
    }
    if (work.ends_with(number)) {
        add_shares(to, where, work);
    }
}

TESSERA_INLINE void compose_reduction(composer& to, const gpu_ranks& where, const shared_work& work, int number) {
    if (work.starts_with(number)) {
        add_sums(to, where, work);
    }
    for_each_part(to.what(), [&](const task& t) {
        for (int n : t.params().norms) {
            if (slice_of(to.tile_at(t.writes[0]), t).empty()) {
                to.add(memory_clear{}, {to.write(n)});
            }
        }
    });
    const std::vector<task> parts = parts_with_elements(to);
    std::vector<std::vector<memory_use>> summands; // before other scratch memory is taken: see add_sums()
    for (const task& t : parts) {
        summands.push_back(work.sums != crossing::all_reduce ? contributions(to, where, work, t)
                                                             : std::vector<memory_use>{});
    }
    for (std::size_t p = 0; p < parts.size(); ++p) {
        const task& t = parts[p];
        const std::vector<memory_use> near = near_targets(to, where, t);
        if (to.tile_at(t.writes[0]).on_host) {
            bring_down(to, summands[p], near[0]);
            continue;
        }
        if (work.sums != crossing::all_reduce) {
            const std::vector<memory_use>& sources = summands[p];
            const kernels::sum_numbers n{.count = near[0].bytes / 4, .sources = static_cast<index_t>(sources.size())};
            kernel_launch add = composer::make(kernels::sum_slices, 1, kernel_numbers(n));
            add.blocks = composer::blocks_for(n.count);
            std::vector<memory_use> memory{near[0]};
            for (memory_use m : sources) {
                memory.push_back(composer::as_read(m));
            }
            to.add(std::move(add), std::move(memory));
            for (std::size_t i = 1; i < near.size(); ++i) {
                to.add(memory_copy{}, {composer::as_read(near[0]), near[i]});
            }
        }
        if (!t.params().norms.empty()) {
            compose_squares(to, t, composer::as_read(near[0]));
        }
    }
    if (work.ends_with(number)) {
        add_shares(to, where, work);
    }
}

TESSERA_INLINE void compose_gather(composer& to, const gpu_ranks& where, const shared_work& work, int number) {
    const auto for_each_slice = [&](const task& t, const auto& f) {
        index_t begin = 0;
        for (int r : t.reads) {
            const tile& x = to.tile_at(r);
            const interval part{begin, begin + x.elements};
            begin = part.end;
            if (!part.empty()) {
                f(r, to.slice(t.writes[0], part, true), where.gpu(x.device) == where.gpu(t.device));
            }
        }
    };
    for_each_slice(to.what(), [&](int from, memory_use target, bool near) {
        if (near) {
            to.add(memory_copy{}, {to.read(from), target});
        }
    });
    if (!work.ends_with(number)) {
        return;
    }
    if (work.shares == crossing::collective) {
        std::vector<int> wholes;
        std::vector<index_t> bounds{0};
        for (int i = 0; i < work.members; ++i) {
            wholes.push_back(member_of(to, work, i).writes[0]);
            bounds.push_back(bounds.back() + to.tile_at(to.what().reads[to_size(i)]).elements);
        }
        return add_slices(to, where, true, wholes, bounds, 1);
    }
    for (int i = 0; i < work.members; ++i) {
        const task& t = member_of(to, work, i);
        for_each_slice(t, [&](int from, memory_use target, bool near) {
            if (!near) {
                transfer(to, where, to.read(from), to.tile_at(from).device, target, t.device, element::f32, 1);
            }
        });
    }
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
