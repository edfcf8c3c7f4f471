// SPDX-License-Identifier: Apache-2.0
// Lowering of a strategy's synchronization: the tasks that carry its messages.
#pragma once

#include "tessera/plan/lowering.hpp"

namespace tessera::detail {

/// Sends the messages that are due: each when all its gradients are ready and those before it have been sent.
template <class Options>
void lowering<Options>::send_messages() {
    const std::vector<message>& all = s_.sync->messages;
    for (; next_message_ < all.size(); ++next_message_) {
        for (const gradient_slice& x : all[next_message_].pieces) {
            if (uses_left_[at(x.parameter)] > 0) {
                return;
            }
        }
        send(all[next_message_]);
    }
}

/// What is left when all has gone backward: messages, the sums of what cannot be sliced, and updates.
template <class Options>
void lowering<Options>::finish_messages() {
    send_messages();
    for (int p = 0; p < g_.parameter_count && clips(); ++p) {
        is_sliceable(p) ? void() : reduce_parameter(p);
    }
    for (std::size_t i = 0; i < reduced_.size(); ++i) {
        update_from(reduced_[i], static_cast<int>(i));
    }
}

/// True where the parameter's shards do not overlap, so that each contribution to it has exactly the region of one of them.
template <class Options>
bool lowering<Options>::is_sliceable(int parameter) const {
    const std::vector<std::vector<piece>> all = groups(parameter);
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k) {
            if (!intersect(all[i][0].region, all[k][0].region).empty()) {
                return false;
            }
        }
    }
    for (const std::vector<piece>& copies : all) {
        for (const piece& p : parameter_gradients_[at(parameter)].pieces) {
            const box& region = copies[0].region;
            if (!(p.region == region) && !intersect(p.region, region).empty()) {
                return false;
            }
        }
    }
    return true;
}

/// Its pieces by members: what the same devices hold copies of, cut alike, makes one collective, of one task on each of them.
template <class Options>
void lowering<Options>::send(const message& m) {
    std::vector<std::vector<sent_piece>> by_members;
    const auto travels_with = [&](const sent_piece& a, const sent_piece& b) {
        bool same = a.copies.size() == b.copies.size() && a.what.slice == b.what.slice &&
                    a.what.slices == b.what.slices &&
                    tile_at(a.copies[0].tile).slices == tile_at(b.copies[0].tile).slices;
        for (std::size_t i = 0; same && i < a.copies.size(); ++i) {
            same = a.copies[i].device == b.copies[i].device;
        }
        return same;
    };
    for (const gradient_slice& x : m.pieces) {
        if (parameter_gradients_[at(x.parameter)].pieces.empty()) {
            continue;
        }
        if (!is_sliceable(x.parameter)) { // every copy sums all of it, once
            for (const std::vector<piece>& copies :
                 x.slice == 0 && !clips() ? groups(x.parameter) : std::vector<std::vector<piece>>{}) {
                update_group(x.parameter, copies);
            }
            continue;
        }
        for (std::vector<piece>& copies : groups(x.parameter)) {
            if (even_part(copies[0].region.volume(), x.slices, x.slice).empty()) {
                continue; // of a shard with fewer elements than slices
            }
            sent_piece one{x, {}, summed_by_device(x.parameter, copies)};
            if (one.sources.empty()) {
                continue; // a short batch leaves nothing to a shard
            }
            one.copies = static_cast<std::vector<piece>&&>(copies);
            std::size_t set = 0;
            while (set < by_members.size() && !travels_with(by_members[set][0], one)) {
                ++set;
            }
            if (set == by_members.size()) {
                by_members.emplace_back();
            }
            by_members[set].push_back(static_cast<sent_piece&&>(one));
        }
    }
    for (const std::vector<sent_piece>& set : by_members) {
        const bool alone = set[0].copies.size() == 1; // nothing to exchange but with devices without a copy
        const tessera::exchange how = alone ? exchange::sliced : m.how;
        const bool together = !alone && (how == exchange::sliced || how == exchange::all_reduce);
        sending_ = {how, together ? exchanges_++ : -1, m.server};
        switch (how) {
        case exchange::sliced:
            send_sliced(set);
            break;
        case exchange::all_reduce:
            send_all_reduce(set);
            break;
        case exchange::ring:
            send_ring(set);
            break;
        case exchange::server:
            send_to_server(set);
            break;
        }
        for (const std::vector<reduced_slice>& r : arrived_) { // after all sums, which make one collective
            updates_wait() ? reduced_.push_back(r) : update_from(r, 0);
        }
        arrived_.clear();
    }
}

} // namespace tessera::detail
