// SPDX-License-Identifier: Apache-2.0
// Bodies of collective.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/cost/collective.hpp"

#include <utility>

namespace tessera::cost::detail {

TESSERA_INLINE void round_sum::transfer(int from, int to, index_t share) {
    const route r = on_.between(from, to);
    latency_ = std::max(latency_, r.latency);
    for (int lane : r.lanes) {
        if (load_[to_size(lane)] == 0) {
            used_.push_back(lane);
        }
        load_[to_size(lane)] += share;
    }
}

TESSERA_INLINE void round_sum::end_round(index_t times) {
    index_t longest = 0;
    for (int lane : used_) {
        const index_t busy = load_[to_size(lane)] * 1000 / on_.lane_megabytes(lane);
        longest = std::max(longest, busy);
        result_.lanes.push_back({lane, times * busy});
        load_[to_size(lane)] = 0;
    }
    result_.latency += times * latency_;
    result_.slope += times * longest;
    latency_ = 0;
    used_.clear();
}

TESSERA_INLINE collective_cost round_sum::finish(collective_algorithm algorithm) {
    std::sort(result_.lanes.begin(), result_.lanes.end(),
              [](const lane_load& a, const lane_load& b) { return a.lane < b.lane; });
    std::vector<lane_load> merged;
    for (const lane_load& l : result_.lanes) {
        if (!merged.empty() && merged.back().lane == l.lane) {
            merged.back().busy += l.busy;
        } else {
            merged.push_back(l);
        }
    }
    result_.lanes = std::move(merged);
    result_.algorithm = algorithm;
    return std::move(result_);
}

TESSERA_INLINE void add_ring(round_sum& rounds, const std::vector<std::vector<int>>& groups, index_t share) {
    const std::size_t p = groups[0].size();
    if (p < 2) {
        return;
    }
    for (const std::vector<int>& g : groups) {
        for (std::size_t i = 0; i < p; ++i) {
            rounds.transfer(g[i], g[(i + 1) % p], share / static_cast<index_t>(p));
        }
    }
    rounds.end_round(static_cast<index_t>(p) - 1);
}

TESSERA_INLINE std::vector<std::vector<int>> by_node(const cluster& on, const std::vector<int>& members) {
    std::vector<std::vector<int>> nodes;
    std::vector<int> names;
    for (int m : members) {
        const int name = on.node_of(m);
        std::size_t i = 0;
        while (i < names.size() && names[i] != name) {
            ++i;
        }
        if (i == names.size()) {
            names.push_back(name);
            nodes.emplace_back();
        }
        nodes[i].push_back(m);
    }
    for (const std::vector<int>& n : nodes) {
        if (n.size() != nodes[0].size()) {
            return {};
        }
    }
    return nodes;
}

TESSERA_INLINE bool half_all_reduce(round_sum& rounds, const cluster& on, const std::vector<int>& members,
                                    collective_algorithm how) {
    const std::size_t p = members.size();
    switch (how) {
    case collective_algorithm::ring:
        add_ring(rounds, {members}, whole_share);
        return true;
    case collective_algorithm::halving:
        if (!is_power_of_two(p)) {
            return false;
        }
        for (std::size_t distance = 1; distance < p; distance *= 2) { // far partners exchange the least
            for (std::size_t i = 0; i < p; ++i) {
                rounds.transfer(members[i], members[i ^ distance], whole_share / static_cast<index_t>(2 * distance));
            }
            rounds.end_round();
        }
        return true;
    case collective_algorithm::tree: // a reduce towards the first member, or a broadcast from it
        for (std::size_t distance = 1; distance < p; distance *= 2) {
            for (std::size_t i = 0; i + distance < p; i += 2 * distance) {
                rounds.transfer(members[i + distance], members[i], whole_share);
            }
            rounds.end_round();
        }
        return true;
    case collective_algorithm::hierarchical:
        break;
    }
    const std::vector<std::vector<int>> nodes = by_node(on, members);
    if (nodes.size() < 2 || nodes[0].size() < 2) {
        return false;
    }
    add_ring(rounds, nodes, whole_share);
    std::vector<std::vector<int>> places(nodes[0].size());
    for (const std::vector<int>& n : nodes) {
        for (std::size_t i = 0; i < n.size(); ++i) {
            places[i].push_back(n[i]);
        }
    }
    add_ring(rounds, places, whole_share / static_cast<index_t>(nodes[0].size()));
    return true;
}

} // namespace tessera::cost::detail

namespace tessera::cost {

TESSERA_INLINE bool half_all_reduce(const cluster& on, const std::vector<int>& members, collective_algorithm algorithm,
                                    collective_cost& out) {
    detail::round_sum rounds(on);
    if (!detail::half_all_reduce(rounds, on, members, algorithm)) {
        return false;
    }
    out = rounds.finish(algorithm);
    return true;
}

TESSERA_INLINE const collective_cost& collective_choice::best(index_t bytes) const {
    const collective_cost* found = &offered[0];
    for (const collective_cost& c : offered) {
        found = c.time(bytes) < found->time(bytes) ? &c : found;
    }
    return *found;
}

TESSERA_INLINE collective_choice all_reduce_halves(const cluster& on, const std::vector<int>& members) {
    collective_choice choice;
    for (const auto how : {collective_algorithm::ring, collective_algorithm::halving, collective_algorithm::tree,
                           collective_algorithm::hierarchical}) {
        collective_cost c;
        if (half_all_reduce(on, members, how, c)) {
            choice.offered.push_back(std::move(c));
        }
    }
    return choice;
}

} // namespace tessera::cost

#include "tessera/base/end_header.inl"
