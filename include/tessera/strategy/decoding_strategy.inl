// SPDX-License-Identifier: Apache-2.0
// Bodies of decoding_strategy.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/strategy/decoding_strategy.hpp"

namespace tessera {

namespace detail {

/// The device of the shard of `from` that stands at the same places as shard `number` of `to`, along loops of the same
/// name; at the first ones where they were not taken over.
inline int device_of_like(const configuration& to, const strategy& own, const description& made,
                          const configuration& from, const strategy& s, const description& whole, int number) {
    const shard mine = shard_at(to, own.pool.data(), made, number);
    int at = 0;
    for (int l = 0; l < whole.loops.size(); ++l) {
        const int like = made.find_loop(whole.loops[l].name);
        const int index = like >= 0 && to.degree[like] == from.degree[l] ? mine.index[like] : 0;
        at = at * from.degree[l] + index;
    }
    at = at * from.partial + (to.partial == from.partial ? mine.summand : 0);
    at = at * from.replicate + mine.replica;
    return shard_at(from, s.pool.data(), whole, at).device;
}

} // namespace detail

TESSERA_INLINE strategy strategy_for(const decoding_network& n, const graph_view& whole, const strategy& s,
                                     int devices) {
    const graph_view g = n.network.view();
    strategy own(g);
    for (int op = 0; op < g.op_count; ++op) {
        const int before = n.ops[to_size(op)];
        const configuration& from = s.ops[to_size(before)];
        const description made = g.describe(op);
        const description of = whole.describe(before);
        const auto configure = [&](bool splits) {
            configuration& to = own.ops[to_size(op)];
            to = {};
            to.uneven = from.uneven;
            to.reduces = from.reduces;
            for (int l = 0; l < made.loops.size() && splits; ++l) {
                const int like = of.find_loop(made.loops[l].name);
                const bool is_position =
                    made.loops[l].name == loop_name::position || made.loops[l].name == loop_name::key_position;
                if (like < 0 || is_position || !splittable(made, l) || made.loops[l].extent != of.loops[like].extent) {
                    continue;
                }
                to.degree[l] = from.degree[like];
                if (from.cuts[like] >= 0 && from.degree[like] > 1) {
                    std::vector<index_t> at;
                    for (int i = 0; i + 1 < from.degree[like]; ++i) {
                        at.push_back(s.pool[to_size(from.cuts[like] + i)]);
                    }
                    own.cut(op, l, at);
                }
            }
            if (splits) {
                own.ops[to_size(op)].replicate = from.replicate;
                own.ops[to_size(op)].partial = g.ops[op].attributes == whole.ops[before].attributes ? from.partial : 1;
            }
            std::vector<int> places;
            for (int i = 0; i < own.ops[to_size(op)].shards(); ++i) {
                places.push_back(detail::device_of_like(own.ops[to_size(op)], own, made, from, s, of, i));
            }
            own.place(op, places);
        };
        configure(true);
        if (check_configuration(g, own.view(), op, devices)) {
            configure(false);
        }
    }
    return own;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
