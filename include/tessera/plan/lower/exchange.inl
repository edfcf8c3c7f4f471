// SPDX-License-Identifier: Apache-2.0
// Bodies of exchange.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/exchange.hpp"

namespace tessera::lowering {

TESSERA_INLINE void add_reduce(const lowering_input& in, synchronization_places& sync, plan_writer& out,
                               const sent_message& sent, const std::vector<message_sum>& all,
                               const message_reduction& x) {
    const int parameter = all[0].of->what.parameter;
    std::vector<int> norms;
    for (std::size_t i = 0; i < all.size() && x.squares && in.clips(); ++i) {
        norms.push_back(add_tile(out, tile_kind::scalar, all[i].of->what.parameter, box{}, x.device, element::f64));
    }
    task& t =
        add_task(out, task_kind::reduce, in.first_user[to_size(parameter)], pass::update, x.shard_number, x.device);
    t.mutable_params().parameter = parameter;
    t.mutable_params().slice = x.slice;
    t.mutable_params().slices = x.slices;
    t.mutable_params().method = sent.method;
    t.mutable_params().message = sent.message;
    t.late = in.sums_late();
    t.mutable_params().norms = norms;
    sync.norms.insert(sync.norms.end(), norms.begin(), norms.end());
    for (std::size_t i = 0; i < all.size(); ++i) {
        const message_sum& sum = all[i];
        t.reads.insert(t.reads.end(), sum.from.begin(), sum.from.end());
        t.writes.insert(t.writes.end(), sum.to.begin(), sum.to.end());
        if (!norms.empty()) {
            t.writes.push_back(norms[i]);
        }
        if (all.size() > 1) {
            t.mutable_params().parts.push_back(
                {sum.of->what.parameter, static_cast<int>(t.reads.size()), static_cast<int>(t.writes.size())});
        }
        const slice_number which{sum.of->copies[0].region.volume(), x.slices, x.slice};
        count_exchanged(out, sum.from, x.device, which);
        count_exchanged(out, sum.to, x.device, which);
    }
}

TESSERA_INLINE void send_sliced(const lowering_input& in, synchronization_places& sync, plan_writer& out,
                                const sent_message& sent) {
    const int own = sent.members();
    const int members = in.in_all_parts(own);
    const bool in_slices = out[sent.slices[0].copies[0].tile].slices > 1;
    const bool keeps = in.state_on_host() ? members > 1 || in.reduces_apart() ||
                                                crosses_devices(out, sent.slices[0].sources, sent.slices[0].copies)
                                          : in.updates_wait() && (members > 1 || in.reduces_apart());
    std::vector<reduced_slices> on_host; // after all sums, which make one collective
    for (int i = 0; i < own; ++i) {
        reduced_slices mine;
        std::vector<message_sum> sums;
        for (const sent_slice& x : sent.slices) {
            const int device = x.copies[to_size(i)].device;
            mine.push_back({x.what.parameter, x.what.slice * members + i, x.what.slices * members, x.copies, device,
                            sent.message, sent.method, x.sources});
            reduced_slice& r = mine.back();
            if (in_slices) {
                r.copies = {x.copies[to_size(i)]};
            }
            if (keeps) {
                r.from = {add_slice_tile(out, r.parameter, x.copies[0].region, device, r.slice, r.slices)};
                sums.push_back({&x, x.sources, r.from});
            }
        }
        if (keeps) {
            add_reduce(in, sync, out, sent, sums, {i, mine[0].device, mine[0].slice, mine[0].slices, true});
        }
        if (in.state_on_host()) {
            on_host.push_back(std::move(mine));
        } else {
            in.updates_wait() ? sync.reduced.push_back(mine) : update_from(in, sync, out, mine, i);
        }
    }
    for (std::size_t i = 0; i < on_host.size(); ++i) {
        in.updates_wait() ? put_off(in, sync, out, on_host[i])
                          : update_from(in, sync, out, on_host[i], static_cast<int>(i));
    }
}

TESSERA_INLINE int sum_tile(synchronization_places& sync, plan_writer& out, int parameter, const piece& copy) {
    for (const auto& [of, sum] : sync.sum_tiles) {
        if (of == copy.tile) {
            return sum;
        }
    }
    const int made = add_tile(out, tile_kind::parameter_gradient, parameter, copy.region, copy.device, element::f32);
    sync.sum_tiles.emplace_back(copy.tile, made);
    return made;
}

TESSERA_INLINE std::vector<reduced_slices> send_all_reduce(const lowering_input& in, synchronization_places& sync,
                                                           plan_writer& out, const sent_message& sent) {
    const int own = sent.members();
    const int members = in.in_all_parts(own);
    const gradient_slice& what = sent.slices[0].what;
    std::vector<message_sum> sums;
    for (const sent_slice& x : sent.slices) {
        sums.push_back({&x, x.sources, {}});
        for (const piece& c : x.copies) {
            sums.back().to.push_back(sum_tile(sync, out, x.what.parameter, c));
        }
    }
    std::vector<reduced_slices> arrived;
    for (int i = 0; i < own; ++i) {
        const int device = sent.slices[0].copies[to_size(i)].device;
        add_reduce(in, sync, out, sent, sums, {i, device, what.slice * members + i, what.slices * members, true});
        arrived.emplace_back();
        for (const message_sum& x : sums) {
            const piece& c = x.of->copies[to_size(i)];
            arrived.back().push_back({x.of->what.parameter,
                                      what.slice,
                                      what.slices,
                                      {c},
                                      c.device,
                                      -1,
                                      exchange::sliced,
                                      {x.to[to_size(i)]}});
        }
    }
    return arrived;
}

TESSERA_INLINE std::vector<std::vector<int>> sources_by_member(const plan_writer& out, const sent_slice& x,
                                                               int members) {
    std::vector<std::vector<int>> all(to_size(members));
    std::vector<int> others; // on devices without a copy
    for (const int source : x.sources) {
        int place = 0;
        while (place < members && x.copies[to_size(place)].device != out[source].device) {
            ++place;
        }
        (place < members ? all[to_size(place)] : others).push_back(source);
    }
    all[0].insert(all[0].end(), others.begin(), others.end());
    return all;
}

TESSERA_INLINE std::vector<reduced_slices> send_ring(const lowering_input& in, synchronization_places& sync,
                                                     plan_writer& out, const sent_message& sent) {
    const std::vector<sent_slice>& all = sent.slices;
    const int members = sent.members();
    std::vector<std::vector<std::vector<int>>> by_member; // of every slice: contributions
    for (const sent_slice& x : all) {
        by_member.push_back(sources_by_member(out, x, members));
    }
    const auto chunk_of = [&](int c) { return all[0].what.slice * members + c; };
    const int slices = all[0].what.slices * members;
    // by slice and chunk: the tile that comes round
    std::vector<std::vector<int>> passed(all.size(), std::vector<int>(to_size(members), -1));
    for (int s = 1; s <= members; ++s) {
        for (int c = 0; c < members; ++c) {
            const int place = (c + s) % members;
            const int device = all[0].copies[to_size(place)].device;
            const bool last = s == members;
            std::vector<message_sum> sums;
            for (std::size_t i = 0; i < all.size(); ++i) {
                int& round = passed[i][to_size(c)];
                std::vector<int> from = by_member[i][to_size(place)];
                if (round >= 0) {
                    from.insert(from.begin(), round);
                }
                const bool only_one = from.size() == 1 && !(last && (in.clips() || out[from[0]].device != device));
                if (from.empty() || only_one) { // the first one's own contribution goes as it is
                    round = from.empty() ? round : from[0];
                    continue;
                }
                round =
                    add_slice_tile(out, all[i].what.parameter, all[i].copies[0].region, device, chunk_of(c), slices);
                sums.push_back({&all[i], from, {round}});
            }
            if (!sums.empty()) {
                add_reduce(in, sync, out, sent, sums, {place, device, chunk_of(c), slices, last});
            }
        }
    }
    std::vector<reduced_slices> arrived;
    for (int s = 0; s < members; ++s) {
        for (int c = 0; c < members; ++c) {
            const int place = (c + s) % members;
            const int device = all[0].copies[to_size(place)].device;
            std::vector<message_sum> sums;
            arrived.emplace_back();
            for (std::size_t i = 0; i < all.size(); ++i) {
                const sent_slice& x = all[i];
                int& round = passed[i][to_size(c)];
                if (s > 0) {
                    const int next =
                        add_slice_tile(out, x.what.parameter, x.copies[0].region, device, chunk_of(c), slices);
                    sums.push_back({&x, {round}, {next}});
                    round = next;
                }
                arrived.back().push_back({x.what.parameter,
                                          chunk_of(c),
                                          slices,
                                          {x.copies[to_size(place)]},
                                          device,
                                          -1,
                                          exchange::sliced,
                                          {round}});
            }
            if (s > 0) {
                add_reduce(in, sync, out, sent, sums, {place, device, chunk_of(c), slices, false});
            }
        }
    }
    return arrived;
}

TESSERA_INLINE void send_to_server(const lowering_input& in, synchronization_places& sync, plan_writer& out,
                                   const sent_message& sent) {
    const std::size_t members = sent.slices[0].copies.size();
    const std::size_t server = to_size(sent.server) % members;
    const int device = sent.slices[0].copies[server].device;
    reduced_slices mine;
    std::vector<message_sum> sums;
    for (const sent_slice& x : sent.slices) {
        std::vector<piece> copies{x.copies[server]};
        for (std::size_t i = 1; i < members; ++i) {
            copies.push_back(x.copies[(server + i) % members]);
        }
        mine.push_back(
            {x.what.parameter, x.what.slice, x.what.slices, copies, device, -1, exchange::server, x.sources});
        if (in.updates_wait() || in.state_on_host()) {
            reduced_slice& r = mine.back();
            r.from = {add_slice_tile(out, r.parameter, copies[0].region, device, r.slice, r.slices)};
            sums.push_back({&x, x.sources, r.from});
        }
    }
    if (in.updates_wait() || in.state_on_host()) {
        add_reduce(in, sync, out, sent, sums, {0, device, mine[0].slice, mine[0].slices, true});
    }
    if (in.updates_wait()) {
        put_off(in, sync, out, mine);
    } else {
        update_from(in, sync, out, mine, 0);
    }
}

TESSERA_INLINE void send_among(const lowering_input& in, synchronization_places& sync, plan_writer& out,
                               const sent_message& sent) {
    std::vector<reduced_slices> arrived;
    switch (sent.method) {
    case exchange::sliced:
        send_sliced(in, sync, out, sent);
        break;
    case exchange::all_reduce:
        arrived = send_all_reduce(in, sync, out, sent);
        break;
    case exchange::ring:
        arrived = send_ring(in, sync, out, sent);
        break;
    case exchange::server:
        send_to_server(in, sync, out, sent);
        break;
    }
    for (const reduced_slices& r : arrived) { // after all sums, which make one collective
        in.updates_wait() ? put_off(in, sync, out, r) : update_from(in, sync, out, r, 0);
    }
    bring_up(in, sync, out);
}

} // namespace tessera::lowering

#include "tessera/base/end_header.inl"
