// SPDX-License-Identifier: Apache-2.0
// Bodies of within_memory.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/recompute/within_memory.hpp"

#include "tessera/cost/roofline.hpp"

#include <algorithm>
#include <utility>

namespace tessera::search::detail {

/// What of every operator a chain asks.
struct recomputed_operators {
    std::vector<index_t> bytes; ///< of its output, on one device
    std::vector<index_t> time;  ///< forward, on one device
    std::vector<char> read;     ///< backward reads its output
    std::vector<char> cheap;    ///< what recomputes selectively
    std::vector<int> last;      ///< its last reader

    recomputed_operators(const graph_view& g, const strategy& s, const device_class& on) {
        strategy by_rule = s;
        recompute(by_rule, g, {recompute_rule::kind::selective});
        for (int op = 0; op < g.op_count; ++op) {
            const configuration& c = s.ops[to_size(op)];
            const description d = g.describe(op);
            const op_attributes& a = g.ops[op].attributes;
            const index_t shares = index_t{c.boxes()} * s.micro_batches;
            const shard one = shard_at(c, s.pool.data(), d, 0);
            bytes.push_back(d.facts.view ? 0
                                         : region(d, d.output(), one.ranges).volume() *
                                               bytes_of(d.operands[d.output()].type) / s.micro_batches);
            const cost::work w{d.facts.work, forward_flops(d) / shares, forward_bytes(d, loop_ranges(d).range) / shares,
                               a.math};
            time.push_back(d.facts.view ? 0 : cost::roofline_time(w, on) * s.micro_batches);
            read.push_back(tessera::detail::is_kept_anyway(g, g.ops[op].output) ? 1 : 0);
            cheap.push_back(by_rule.ops[to_size(op)].recompute ? 1 : 0);
            last.push_back(tessera::detail::last_reader(g, op));
        }
    }
};

/// Appends the ways of doing operators `first` to before `last`, which lie between two places.
TESSERA_INLINE void add_ways(recompute_chain& to, const graph_view& g, const recomputed_operators& x, int from,
                             int until) {
    const int first = to.first[to_size(from)];
    const int last = to.first[to_size(until)];
    const int ways = tessera::detail::has_loss(g, first, last) ? 1 : 3;
    for (int way = 0; way < ways; ++way) { // all is kept, what is cheap is not, what does not leave is not
        chain_part p{from, until};
        std::vector<char> again;
        index_t largest = 0;
        for (int op = first; op < last; ++op) {
            const auto i = to_size(op);
            const bool leaves = x.last[i] >= last;
            const bool mine = !leaves && (way == 2 || (way == 1 && x.cheap[i] != 0));
            const index_t kept = x.read[i] != 0 || (way == 2 && leaves) ? x.bytes[i] : 0;
            again.push_back(mine ? 1 : 0);
            p.stored += mine ? 0 : kept;
            p.alive += kept;
            p.time += mine ? x.time[i] : 0;
            largest = std::max(largest, x.bytes[i]);
        }
        p.alive += 2 * largest; // gradients
        if (way == 0 || p.time > 0) {
            to.parts.push_back(p);
            to.recompute.push_back(std::move(again));
        }
    }
}

} // namespace tessera::search::detail

namespace tessera::search {

TESSERA_INLINE recompute_chain chain_to_recompute(const graph_view& g, const strategy& s, const device_class& on,
                                                  int longest) {
    const detail::recomputed_operators x(g, s, on);
    const repeated_blocks r = blocks_to_recompute(g);
    recompute_chain chain;
    chain.first.push_back(0);
    int products = 0;
    for (int op = 0; op < g.op_count; ++op) {
        int leads_on = 0;
        for (int k = chain.first.back(); k <= op; ++k) {
            leads_on += x.last[to_size(k)] > op ? 1 : 0;
        }
        products += tessera::detail::has_matrix(g, op) ? 1 : 0;
        const bool block = r.count > 1 && op + 1 >= r.first && op + 1 <= r.end() && (op + 1 - r.first) % r.length == 0;
        if (op + 1 == g.op_count || block || (leads_on == 1 && products > 0) || products > 1) {
            chain.first.push_back(op + 1);
            products = 0;
        }
    }
    for (int until = 1; until <= chain.places(); ++until) {
        for (int from = std::max(0, until - longest); from < until; ++from) {
            detail::add_ways(chain, g, x, from, until);
        }
    }
    return chain;
}

TESSERA_INLINE recompute_found recompute_within(const graph_view& g, const cluster& on, const strategy& s,
                                                const recompute_options& o) {
    recompute_found found;
    const auto consider = [&](const strategy& candidate, const std::string& what) {
        const finished_step x = simulate_finished(g, on, candidate, o.times, o.lowering);
        bool fits = true;
        index_t most = 0;
        for (int d = 0; d < on.devices(); ++d) {
            const index_t bytes = x.peak_bytes[to_size(d)];
            const index_t limit = o.memory > 0 ? o.memory : on.class_of(d).memory_bytes;
            fits = fits && (limit <= 0 || bytes <= limit);
            most = std::max(most, bytes);
        }
        const bool better = fits != found.fits ? fits
                            : fits             ? std::pair(x.makespan, most) < std::pair(found.step, found.bytes)
                                               : std::pair(most, x.makespan) < std::pair(found.bytes, found.step);
        if (found.simulated++ == 0 || better) {
            found = {candidate, what, x.makespan, most, fits, found.simulated};
        }
        return fits;
    };
    const auto by_rule = [&](const recompute_rule& how) {
        strategy candidate = s;
        recompute(candidate, g, how);
        return consider(candidate, to_text(how));
    };
    if (by_rule({})) {
        return found; // nothing is faster
    }
    by_rule({recompute_rule::kind::selective});
    by_rule({recompute_rule::kind::blocks});
    const int blocks = blocks_to_recompute(g).count;
    for (int k = 2; k <= 4 || k * k <= 2 * blocks; ++k) { // sqrt(blocks) stores least
        by_rule({recompute_rule::kind::blocks, k});
    }
    const bool staged = std::any_of(s.ops.begin(), s.ops.end(), [](const configuration& c) { return c.stage != 0; });
    if (staged) {
        return found;
    }
    const recompute_chain chain = chain_to_recompute(g, s, on.class_of(0), o.longest);
    const auto by_chain = [&](index_t limit) {
        const chain_choice choice = cheapest_chain(chain.places(), chain.parts, limit);
        strategy candidate = s;
        for (const int part : choice.parts) {
            const auto i = to_size(part);
            const int first = chain.first[to_size(chain.parts[i].first)];
            for (std::size_t k = 0; k < chain.recompute[i].size(); ++k) {
                candidate.ops[to_size(first) + k].recompute = chain.recompute[i][k] != 0;
            }
        }
        return consider(candidate, "chain");
    };
    index_t least = least_chain_limit(chain.places(), chain.parts);
    index_t most = 0; // of keeping everything
    for (std::size_t i = 0; i < chain.parts.size(); ++i) {
        most += chain.parts[i].last == chain.parts[i].first + 1 && chain.parts[i].time == 0 ? chain.parts[i].alive : 0;
    }
    if (!by_chain(least)) {
        return found;
    }
    for (int i = 1; i < o.trials && least + 1 < most; ++i) { // least fits, most does not
        const index_t middle = least + (most - least) / 2;
        (by_chain(middle) ? least : most) = middle;
    }
    return found;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
