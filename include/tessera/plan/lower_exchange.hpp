// SPDX-License-Identifier: Apache-2.0
// Lowering of one message among its members: sliced, by all-reduce, round a ring, or by a server.
#pragma once

#include "tessera/plan/lowering.hpp"

namespace tessera::detail {

/// A task that sums a slice of contributions into tiles, with their squares where they are wanted.
template <class Options>
int lowering<Options>::add_reduce(const sent_piece& x, int number, int device, int slice, int slices,
                                  const std::vector<int>& from, const std::vector<int>& to, bool squares) {
    const int norm =
        squares && clips() ? add_tile(tile_kind::scalar, x.what.parameter, box{}, device, element::f64) : -1;
    task& t = add_task(task_kind::reduce, user_of(x.what.parameter), pass::update, number, device);
    t.parameter = x.what.parameter;
    t.slice = slice;
    t.slices = slices;
    t.reads = from;
    t.writes = to;
    t.how = sending_.how;
    t.message = sending_.message;
    t.late = sums_late();
    if (norm >= 0) {
        t.writes.push_back(norm);
        t.norms = {norm};
        norms_.push_back(norm);
    }
    const index_t size = even_part(x.copies[0].region.volume(), slices, slice).size();
    count_moved(from, device, size);
    count_moved(to, device, size);
    return static_cast<int>(p_.tasks.size()) - 1;
}

/// A tile for a slice of a parameter's summed gradient.
template <class Options>
int lowering<Options>::add_slice_tile(int parameter, const box& region, int device, int slice, int slices) {
    const int t = add_tile(tile_kind::parameter_gradient, parameter, region, device, element::f32);
    tile_at(t).slice = slice;
    tile_at(t).slices = slices;
    tile_at(t).elements = even_part(region.volume(), slices, slice).size();
    return t;
}

/// Every member sums and updates a slice; the sum is kept only where its update waits.
template <class Options>
void lowering<Options>::send_sliced(const sent_piece& x) {
    const int members = static_cast<int>(x.copies.size());
    const bool in_slices = tile_at(x.copies[0].tile).slices > 1;
    for (int i = 0; i < members; ++i) {
        const int device = x.copies[at(i)].device;
        reduced_slice r{x.what.parameter,
                        x.what.slice * members + i,
                        x.what.slices * members,
                        x.copies,
                        device,
                        sending_.message,
                        sending_.how,
                        x.sources};
        if (in_slices) {
            r.copies = {x.copies[at(i)]};
        }
        if (members == 1 && !clips() && updates_wait()) {
            reduced_.push_back(r);
        } else if (updates_wait()) {
            r.from = {add_slice_tile(r.parameter, x.copies[0].region, device, r.slice, r.slices)};
            add_reduce(x, i, device, r.slice, r.slices, x.sources, r.from, true);
            reduced_.push_back(r);
        } else {
            update_from(r, i);
        }
    }
}

/// Every member sums a slice and hands it to all; each updates its copy.
template <class Options>
void lowering<Options>::send_all_reduce(const sent_piece& x) {
    const int members = static_cast<int>(x.copies.size());
    std::vector<int> sums;
    for (const piece& c : x.copies) {
        sums.push_back(sum_tile(x.what.parameter, c));
    }
    for (int i = 0; i < members; ++i) {
        add_reduce(x, i, x.copies[at(i)].device, x.what.slice * members + i, x.what.slices * members, x.sources, sums,
                   true);
    }
    for (std::size_t i = 0; i < x.copies.size(); ++i) {
        arrived_.push_back({x.what.parameter,
                            x.what.slice,
                            x.what.slices,
                            {x.copies[i]},
                            x.copies[i].device,
                            -1,
                            exchange::sliced,
                            {sums[i]}});
    }
}

/// The tile in which the summed gradient of a copy's region arrives; slices of one parameter share it.
template <class Options>
int lowering<Options>::sum_tile(int parameter, const piece& copy) {
    for (const auto& [of, sum] : sum_tiles_) {
        if (of == copy.tile) {
            return sum;
        }
    }
    sum_tiles_.emplace_back(copy.tile,
                            add_tile(tile_kind::parameter_gradient, parameter, copy.region, copy.device, element::f32));
    return sum_tiles_.back().second;
}

/// Chunk c starts behind member c and goes round, each adding its own, until member c has all of it; then once more round.
template <class Options>
void lowering<Options>::send_ring(const sent_piece& x) {
    const int members = static_cast<int>(x.copies.size());
    const int parameter = x.what.parameter;
    std::vector<std::vector<int>> by_member(at(members)); // contributions
    std::vector<int> others;                              // on devices without a copy
    for (const int source : x.sources) {
        int place = 0;
        while (place < members && x.copies[at(place)].device != tile_at(source).device) {
            ++place;
        }
        (place < members ? by_member[at(place)] : others).push_back(source);
    }
    by_member[0].insert(by_member[0].end(), others.begin(), others.end());
    const auto chunk_of = [&](int c) { return x.what.slice * members + c; };
    const int slices = x.what.slices * members;
    std::vector<int> carried(at(members), -1); // by chunk: the tile that comes round
    for (int s = 1; s <= members; ++s) {
        for (int c = 0; c < members; ++c) {
            const int place = (c + s) % members;
            const int device = x.copies[at(place)].device;
            std::vector<int> from = by_member[at(place)];
            const bool last = s == members;
            if (carried[at(c)] >= 0) {
                from.insert(from.begin(), carried[at(c)]);
            }
            const bool only_one = from.size() == 1 && !(last && (clips() || tile_at(from[0]).device != device));
            if (from.empty() || only_one) { // the first one's own contribution goes as it is
                carried[at(c)] = from.empty() ? carried[at(c)] : from[0];
                continue;
            }
            const int sum = add_slice_tile(parameter, x.copies[0].region, device, chunk_of(c), slices);
            add_reduce(x, place, device, chunk_of(c), slices, from, {sum}, last);
            carried[at(c)] = sum;
        }
    }
    for (int s = 0; s < members; ++s) {
        for (int c = 0; c < members; ++c) {
            const piece& copy = x.copies[at((c + s) % members)];
            if (s > 0) {
                const int next = add_slice_tile(parameter, copy.region, copy.device, chunk_of(c), slices);
                add_reduce(x, (c + s) % members, copy.device, chunk_of(c), slices, {carried[at(c)]}, {next}, false);
                carried[at(c)] = next;
            }
            arrived_.push_back(
                {parameter, chunk_of(c), slices, {copy}, copy.device, -1, exchange::sliced, {carried[at(c)]}});
        }
    }
}

template <class Options>
void lowering<Options>::send_to_server(const sent_piece& x) {
    const std::size_t server = at(sending_.server) % x.copies.size();
    const int device = x.copies[server].device;
    std::vector<piece> copies{x.copies[server]};
    for (std::size_t i = 1; i < x.copies.size(); ++i) {
        copies.push_back(x.copies[(server + i) % x.copies.size()]);
    }
    reduced_slice r{x.what.parameter, x.what.slice, x.what.slices, copies, device, -1, exchange::server, x.sources};
    if (updates_wait()) {
        r.from = {add_slice_tile(r.parameter, copies[0].region, device, r.slice, r.slices)};
        add_reduce(x, 0, device, r.slice, r.slices, x.sources, r.from, true);
        reduced_.push_back(r);
    } else {
        update_from(r, 0);
    }
}

/// Updates a slice of a parameter in some copies.
template <class Options>
void lowering<Options>::update_from(const reduced_slice& r, int number) {
    const box region = r.copies[0].region;
    const int state = state_tile(r.parameter, region, r.device, r.slice, r.slices);
    task& t = add_task(task_kind::update, user_of(r.parameter), pass::update, number, r.device);
    t.parameter = r.parameter;
    t.slice = r.slice;
    t.slices = r.slices;
    t.state = state;
    t.how = r.how;
    t.message = r.message;
    t.late = sums_late();
    t.reads = r.from;
    const index_t size = even_part(region.volume(), r.slices, r.slice).size();
    count_moved(t.reads, r.device, size);
    t.norms = norms_;
    for (const int n : norms_) {
        t.reads.push_back(n);
    }
    for (const piece& c : r.copies) {
        t.writes.push_back(c.tile);
    }
    count_moved(t.writes, r.device, size);
}

} // namespace tessera::detail
