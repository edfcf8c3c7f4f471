// SPDX-License-Identifier: Apache-2.0
// Lowering of one message among its members: sliced, by all-reduce, round a ring, or by a server.
#pragma once

#include "tessera/plan/lowering.hpp"

namespace tessera::detail {

/// A task that sums a slice of contributions to each of some pieces into tiles, with their squares where they are wanted.
template <class Options>
void lowering<Options>::add_reduce(const std::vector<message_sum>& all, int number, int device, int slice, int slices,
                                   bool squares) {
    std::vector<int> norms;
    for (std::size_t i = 0; i < all.size() && squares && clips(); ++i) {
        norms.push_back(add_tile(tile_kind::scalar, all[i].of->what.parameter, box{}, device, element::f64));
    }
    task& t = add_task(task_kind::reduce, user_of(all[0].of->what.parameter), pass::update, number, device);
    t.parameter = all[0].of->what.parameter;
    t.slice = slice;
    t.slices = slices;
    t.how = sending_.how;
    t.message = sending_.message;
    t.late = sums_late();
    t.norms = norms;
    norms_.insert(norms_.end(), norms.begin(), norms.end());
    for (std::size_t i = 0; i < all.size(); ++i) {
        const message_sum& x = all[i];
        t.reads.insert(t.reads.end(), x.from.begin(), x.from.end());
        t.writes.insert(t.writes.end(), x.to.begin(), x.to.end());
        if (!norms.empty()) {
            t.writes.push_back(norms[i]);
        }
        if (all.size() > 1) {
            t.parts.push_back(
                {x.of->what.parameter, static_cast<int>(t.reads.size()), static_cast<int>(t.writes.size())});
        }
        const index_t size = even_part(x.of->copies[0].region.volume(), slices, slice).size();
        count_moved(x.from, device, size);
        count_moved(x.to, device, size);
    }
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
void lowering<Options>::send_sliced(const std::vector<sent_piece>& all) {
    const int members = static_cast<int>(all[0].copies.size());
    const bool in_slices = tile_at(all[0].copies[0].tile).slices > 1;
    const bool keeps = updates_wait() && (members > 1 || clips());
    for (int i = 0; i < members; ++i) {
        std::vector<reduced_slice> mine;
        std::vector<message_sum> sums;
        for (const sent_piece& x : all) {
            const int device = x.copies[at(i)].device;
            mine.push_back({x.what.parameter, x.what.slice * members + i, x.what.slices * members, x.copies, device,
                            sending_.message, sending_.how, x.sources});
            reduced_slice& r = mine.back();
            if (in_slices) {
                r.copies = {x.copies[at(i)]};
            }
            if (keeps) {
                r.from = {add_slice_tile(r.parameter, x.copies[0].region, device, r.slice, r.slices)};
                sums.push_back({&x, x.sources, r.from});
            }
        }
        if (keeps) {
            add_reduce(sums, i, mine[0].device, mine[0].slice, mine[0].slices, true);
        }
        updates_wait() ? reduced_.push_back(mine) : update_from(mine, i);
    }
}

/// Every member sums a slice and hands it to all; each updates its copy.
template <class Options>
void lowering<Options>::send_all_reduce(const std::vector<sent_piece>& all) {
    const int members = static_cast<int>(all[0].copies.size());
    const gradient_slice& what = all[0].what;
    std::vector<message_sum> sums;
    for (const sent_piece& x : all) {
        sums.push_back({&x, x.sources, {}});
        for (const piece& c : x.copies) {
            sums.back().to.push_back(sum_tile(x.what.parameter, c));
        }
    }
    for (int i = 0; i < members; ++i) {
        add_reduce(sums, i, all[0].copies[at(i)].device, what.slice * members + i, what.slices * members, true);
    }
    for (std::size_t i = 0; i < all[0].copies.size(); ++i) {
        arrived_.emplace_back();
        for (const message_sum& x : sums) {
            const piece& c = x.of->copies[i];
            arrived_.back().push_back(
                {x.of->what.parameter, what.slice, what.slices, {c}, c.device, -1, exchange::sliced, {x.to[i]}});
        }
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
void lowering<Options>::send_ring(const std::vector<sent_piece>& all) {
    const int members = static_cast<int>(all[0].copies.size());
    std::vector<std::vector<std::vector<int>>> by_member; // of every piece: contributions
    for (const sent_piece& x : all) {
        by_member.emplace_back(at(members));
        std::vector<int> others; // on devices without a copy
        for (const int source : x.sources) {
            int place = 0;
            while (place < members && x.copies[at(place)].device != tile_at(source).device) {
                ++place;
            }
            (place < members ? by_member.back()[at(place)] : others).push_back(source);
        }
        by_member.back()[0].insert(by_member.back()[0].end(), others.begin(), others.end());
    }
    const auto chunk_of = [&](int c) { return all[0].what.slice * members + c; };
    const int slices = all[0].what.slices * members;
    // by piece and chunk: the tile that comes round
    std::vector<std::vector<int>> carried(all.size(), std::vector<int>(at(members), -1));
    for (int s = 1; s <= members; ++s) {
        for (int c = 0; c < members; ++c) {
            const int place = (c + s) % members;
            const int device = all[0].copies[at(place)].device;
            const bool last = s == members;
            std::vector<message_sum> sums;
            for (std::size_t i = 0; i < all.size(); ++i) {
                int& round = carried[i][at(c)];
                std::vector<int> from = by_member[i][at(place)];
                if (round >= 0) {
                    from.insert(from.begin(), round);
                }
                const bool only_one = from.size() == 1 && !(last && (clips() || tile_at(from[0]).device != device));
                if (from.empty() || only_one) { // the first one's own contribution goes as it is
                    round = from.empty() ? round : from[0];
                    continue;
                }
                round = add_slice_tile(all[i].what.parameter, all[i].copies[0].region, device, chunk_of(c), slices);
                sums.push_back({&all[i], from, {round}});
            }
            if (!sums.empty()) {
                add_reduce(sums, place, device, chunk_of(c), slices, last);
            }
        }
    }
    for (int s = 0; s < members; ++s) {
        for (int c = 0; c < members; ++c) {
            const int place = (c + s) % members;
            const int device = all[0].copies[at(place)].device;
            std::vector<message_sum> sums;
            std::vector<reduced_slice> mine;
            for (std::size_t i = 0; i < all.size(); ++i) {
                const sent_piece& x = all[i];
                int& round = carried[i][at(c)];
                if (s > 0) {
                    const int next = add_slice_tile(x.what.parameter, x.copies[0].region, device, chunk_of(c), slices);
                    sums.push_back({&x, {round}, {next}});
                    round = next;
                }
                mine.push_back({x.what.parameter,
                                chunk_of(c),
                                slices,
                                {x.copies[at(place)]},
                                device,
                                -1,
                                exchange::sliced,
                                {round}});
            }
            if (s > 0) {
                add_reduce(sums, place, device, chunk_of(c), slices, false);
            }
            arrived_.push_back(mine);
        }
    }
}

template <class Options>
void lowering<Options>::send_to_server(const std::vector<sent_piece>& all) {
    const std::size_t members = all[0].copies.size();
    const std::size_t server = at(sending_.server) % members;
    const int device = all[0].copies[server].device;
    std::vector<reduced_slice> mine;
    std::vector<message_sum> sums;
    for (const sent_piece& x : all) {
        std::vector<piece> copies{x.copies[server]};
        for (std::size_t i = 1; i < members; ++i) {
            copies.push_back(x.copies[(server + i) % members]);
        }
        mine.push_back(
            {x.what.parameter, x.what.slice, x.what.slices, copies, device, -1, exchange::server, x.sources});
        if (updates_wait()) {
            reduced_slice& r = mine.back();
            r.from = {add_slice_tile(r.parameter, copies[0].region, device, r.slice, r.slices)};
            sums.push_back({&x, x.sources, r.from});
        }
    }
    if (updates_wait()) {
        add_reduce(sums, 0, device, mine[0].slice, mine[0].slices, true);
        reduced_.push_back(mine);
    } else {
        update_from(mine, 0);
    }
}

/// Updates a slice of some parameters, each in some copies.
template <class Options>
void lowering<Options>::update_from(const std::vector<reduced_slice>& all, int number) {
    std::vector<int> states;
    for (const reduced_slice& r : all) {
        states.push_back(state_tile(r.parameter, r.copies[0].region, r.device, r.slice, r.slices));
    }
    const reduced_slice& first = all[0];
    task& t = add_task(task_kind::update, user_of(first.parameter), pass::update, number, first.device);
    t.parameter = first.parameter;
    t.slice = first.slice;
    t.slices = first.slices;
    t.state = all.size() == 1 ? states[0] : -1;
    t.how = first.how;
    t.message = first.message;
    t.late = sums_late();
    const bool queued = has_messages() && s_.sync->urgent_first && first.how == exchange::server && !updates_wait();
    t.priority = queued ? step_ * g_.op_count + user_of(first.parameter) : -1; // an earlier step needs it earlier
    for (std::size_t i = 0; i < all.size(); ++i) {
        const reduced_slice& r = all[i];
        t.reads.insert(t.reads.end(), r.from.begin(), r.from.end());
        std::vector<int> copies;
        for (const piece& c : r.copies) {
            copies.push_back(c.tile);
        }
        t.writes.insert(t.writes.end(), copies.begin(), copies.end());
        const index_t size = even_part(r.copies[0].region.volume(), r.slices, r.slice).size();
        count_moved(r.from, r.device, size);
        count_moved(copies, r.device, size);
        if (all.size() > 1) {
            t.parts.push_back(
                {r.parameter, static_cast<int>(t.reads.size()), static_cast<int>(t.writes.size()), states[i]});
        }
    }
    t.norms = norms_;
    t.reads.insert(t.reads.end(), norms_.begin(), norms_.end());
}

} // namespace tessera::detail
