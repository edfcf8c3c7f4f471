// SPDX-License-Identifier: Apache-2.0
// Bodies of synchronization.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/synchronization.hpp"

#include <utility>

namespace tessera::lowering {

TESSERA_INLINE bool travel_together(const plan_writer& out, const sent_slice& a, const sent_slice& b) {
    bool same = a.copies.size() == b.copies.size() && a.what.slice == b.what.slice && a.what.slices == b.what.slices &&
                out[a.copies[0].tile].slices == out[b.copies[0].tile].slices;
    for (std::size_t i = 0; same && i < a.copies.size(); ++i) {
        same = a.copies[i].device == b.copies[i].device;
    }
    return same;
}

TESSERA_INLINE void send(const lowering_input& in, const network_places& net, synchronization_places& sync,
                         plan_writer& out, const message& m) {
    std::vector<std::vector<sent_slice>> by_members;
    for (const gradient_slice& x : m.slices) {
        if (net.parameter_gradients[to_size(x.parameter)].pieces.empty()) {
            continue;
        }
        std::vector<std::vector<piece>> groups = groups_to_update(in.g, net, x.parameter);
        if (!is_sliceable(net, x.parameter)) { // every copy sums all of it, once
            gathered_list sums;
            for (std::size_t i = 0; i < groups.size() && x.slice == 0 && !in.reduces_apart(); ++i) {
                update_group(in, net, sync, out, x.parameter, groups[i], sums);
            }
            continue;
        }
        for (std::vector<piece>& copies : groups) {
            if (even_part(copies[0].region.volume(), x.slices, x.slice).empty()) {
                continue; // of a shard with fewer elements than slices
            }
            sent_slice one{x, {}, summed_by_device(in, net, sync, out, x.parameter, copies)};
            if (one.sources.empty()) {
                continue; // a short batch leaves nothing to a shard
            }
            one.copies = std::move(copies);
            std::size_t set = 0;
            while (set < by_members.size() && !travel_together(out, by_members[set][0], one)) {
                ++set;
            }
            if (set == by_members.size()) {
                by_members.emplace_back();
            }
            by_members[set].push_back(std::move(one));
        }
    }
    for (std::vector<sent_slice>& set : by_members) {
        const bool alone = set[0].copies.size() == 1; // nothing to exchange but with devices without a copy
        const tessera::exchange how = alone ? exchange::sliced : m.method;
        const bool together = !alone && (how == exchange::sliced || how == exchange::all_reduce);
        const int message = together ? out.message_count++ : -1;
        const sent_message sent{how, message, m.server, std::move(set)};
        in.compresses() && !alone ? send_compressed(in, sync, out, sent) : send_among(in, sync, out, sent);
    }
}

TESSERA_INLINE void send_messages(const lowering_input& in, const network_places& net, synchronization_places& sync,
                                  plan_writer& out) {
    const std::vector<message>& all = in.s.sync->messages;
    for (; sync.next_message < all.size(); ++sync.next_message) {
        for (const gradient_slice& x : all[sync.next_message].slices) {
            if (net.uses_left[to_size(x.parameter)] > 0) {
                return;
            }
        }
        send(in, net, sync, out, all[sync.next_message]);
    }
}

TESSERA_INLINE void finish_parameters(const lowering_input& in, network_places& net, synchronization_places& sync,
                                      plan_writer& out, int op) {
    if (sync.holds) {
        sync.deferred.emplace_back(op, out.micro_batch);
        return;
    }
    for (int p : in.g.ops[op].parameters) {
        const bool ready = --net.uses_left[to_size(p)] == 0 && in.g.parameters[p].trained;
        if (ready && in.has_messages()) {
            if (!in.sums_late()) {
                send_messages(in, net, sync, out);
            }
        } else if (ready && in.layerwise[to_size(p)] != 0 && !in.clips()) {
            update_layerwise(in, net, sync, out, p);
        } else if (ready && in.o.update.clip_norm <= 0) {
            gathered_list sums;
            for (const std::vector<piece>& copies : groups_to_update(in.g, net, p)) {
                in.averages() ? update_copies(in, net, sync, out, p, copies, sums)
                              : update_group(in, net, sync, out, p, copies, sums);
            }
        }
    }
}

TESSERA_INLINE void finish_deferred(const lowering_input& in, network_places& net, synchronization_places& sync,
                                    plan_writer& out) {
    sync.holds = false;
    for (const auto& [op, micro_batch] : sync.deferred) {
        out.micro_batch = micro_batch;
        finish_parameters(in, net, sync, out, op);
    }
    sync.deferred.clear();
}

TESSERA_INLINE void update_stale(const lowering_input& in, synchronization_places& sync, plan_writer& out) {
    const int now = out.step;
    sync.stale.push_back({now, std::move(sync.reduced)});
    sync.reduced.clear();
    std::size_t due = 0;
    for (; due < sync.stale.size() && (sync.stale[due].step + in.staleness() <= now || now + 1 == in.steps_per_plan());
         ++due) {
        out.step = sync.stale[due].step;
        int number = 0;
        for (const reduced_slices& r : sync.stale[due].reduced) {
            update_from(in, sync, out, r, number++);
        }
        bring_up(in, sync, out);
    }
    sync.stale.erase(sync.stale.begin(), sync.stale.begin() + static_cast<std::ptrdiff_t>(due));
    out.step = now;
}

TESSERA_INLINE void finish_updates(const lowering_input& in, const network_places& net, synchronization_places& sync,
                                   plan_writer& out) {
    if (in.has_messages()) {
        send_messages(in, net, sync, out);
    }
    for (int p = 0; p < in.g.parameter_count && (in.clips() || (in.has_messages() && in.reduces_apart())); ++p) {
        if (!(in.has_messages() && is_sliceable(net, p))) {
            reduce_parameter(in, net, sync, out, p);
        }
    }
    take_all_norms(in, sync, out);
    if (in.staleness() > 0) {
        return update_stale(in, sync, out);
    }
    for (std::size_t i = 0; i < sync.reduced.size() && in.has_messages(); ++i) {
        update_from(in, sync, out, sync.reduced[i], static_cast<int>(i));
    }
    bring_up(in, sync, out);
    for (int p = 0; p < in.g.parameter_count && in.clips() && !in.has_messages(); ++p) {
        update_clipped(in, sync, out, p);
    }
    average_copies(in, sync, out);
}

TESSERA_INLINE void forget_step(synchronization_places& sync) {
    sync.norms.clear();
    sync.layer_norms.clear();
    sync.reduced.clear();
    sync.sum_tiles.clear();
    sync.local_sums.clear();
    sync.next_message = 0;
}

} // namespace tessera::lowering

#include "tessera/base/end_header.inl"
