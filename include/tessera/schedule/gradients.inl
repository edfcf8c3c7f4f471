// SPDX-License-Identifier: Apache-2.0
// Bodies of gradients.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/gradients.hpp"

#include <utility>

namespace tessera::schedule {

TESSERA_INLINE std::vector<ready_gradient> gradients_of(const graph_view& g, const worker_speed& speed, int workers) {
    require(check_workers(speed, workers));
    std::vector<ready_gradient> all;
    const std::vector<int> first_user = first_users_of(g);
    double time = 0;
    for (int op = g.op_count; op-- > 0;) {
        time += 2.0 * static_cast<double>(forward_flops(g.describe(op))) / workers / speed.flops_per_ns;
        for (int k = g.ops[op].parameters.size(); k-- > 0;) {
            const int p = g.ops[op].parameters[k];
            bool listed = !g.parameters[p].trained || first_user[to_size(p)] != op;
            for (const ready_gradient& x : all) {
                listed = listed || x.parameter == p;
            }
            if (!listed) {
                all.push_back({p, g.parameters[p].extents.volume(), op, static_cast<index_t>(time)});
            }
        }
    }
    return all;
}

TESSERA_INLINE std::vector<std::size_t> priority_order(const std::vector<ready_gradient>& items, double bytes_per_ns,
                                                       index_t credit) {
    std::vector<std::size_t> by_ready(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
        by_ready[i] = i;
    }
    std::sort(by_ready.begin(), by_ready.end(), [&](std::size_t a, std::size_t b) {
        return items[a].ready != items[b].ready ? items[a].ready < items[b].ready : a < b;
    });
    const auto less_urgent = [&](std::size_t a, std::size_t b) {
        return items[a].layer != items[b].layer ? items[a].layer > items[b].layer : a > b;
    };
    std::vector<std::size_t> ready;                       // a heap
    std::vector<std::pair<double, index_t>> on_their_way; // end, bytes, in order
    std::vector<std::size_t> order;
    std::size_t seen = 0;    // of by_ready
    std::size_t arrived = 0; // of on_their_way
    index_t outstanding = 0;
    double now = 0;
    double link_free = 0;
    while (order.size() < items.size()) {
        for (; seen < items.size() && static_cast<double>(items[by_ready[seen]].ready) <= now; ++seen) {
            ready.push_back(by_ready[seen]);
            std::push_heap(ready.begin(), ready.end(), less_urgent);
        }
        for (; arrived < on_their_way.size() && on_their_way[arrived].first <= now; ++arrived) {
            outstanding -= on_their_way[arrived].second;
        }
        if (!ready.empty() && (outstanding == 0 || outstanding + items[ready[0]].bytes() <= credit)) {
            const std::size_t best = ready[0];
            std::pop_heap(ready.begin(), ready.end(), less_urgent);
            ready.pop_back();
            order.push_back(best);
            link_free = std::max(link_free, now) + static_cast<double>(items[best].bytes()) / bytes_per_ns;
            on_their_way.emplace_back(link_free, items[best].bytes());
            outstanding += items[best].bytes();
        } else { // on to the next moment at which anything can change
            const bool more = seen < items.size();
            const bool waits = arrived < on_their_way.size();
            const double next = more ? static_cast<double>(items[by_ready[seen]].ready) : 0;
            now = !waits ? next : !more ? on_their_way[arrived].first : std::min(next, on_their_way[arrived].first);
        }
    }
    return order;
}

TESSERA_INLINE synchronization prioritized_slices(const std::vector<ready_gradient>& gradients, const slicing& how) {
    require(check_servers(how.servers));
    require(check_slice(how.slice));
    std::vector<ready_gradient> items;
    std::vector<message> messages;
    int next = 0;
    for (const ready_gradient& x : gradients) {
        const index_t count = (x.elements + how.slice - 1) / how.slice;
        for (index_t k = 0; k < count; ++k) {
            items.push_back(x);
            items.back().elements = even_part(x.elements, count, k).size();
            messages.push_back(
                {how.how, next++ % how.servers, {{x.parameter, static_cast<int>(k), static_cast<int>(count)}}});
        }
    }
    synchronization s;
    for (const std::size_t i : priority_order(items, how.bytes_per_ns, how.credit)) {
        s.messages.push_back(std::move(messages[i]));
    }
    return s;
}

} // namespace tessera::schedule

#include "tessera/base/end_header.inl"
