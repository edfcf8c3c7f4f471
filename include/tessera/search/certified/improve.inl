// SPDX-License-Identifier: Apache-2.0
// Bodies of improve.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/improve.hpp"

namespace tessera::search::detail {

TESSERA_INLINE improver::improver(const reduced_problem& p, const split_graph& g, const edge_lists& edges,
                                  const std::vector<int>& start, std::uint32_t seed)
    : p_(p), g_(g), edges_(edges), now_(p, edges, start), part_solver_(p, g), choice_(start),
      chosen_(p.nodes.size(), 0), pick_{seed} {}

TESSERA_INLINE void improver::restart(const std::vector<int>& from) {
    now_ = assignment(p_, edges_, from);
    choice_ = from;
}

TESSERA_INLINE void improver::grow() {
    const std::size_t size = std::size_t{8} << below(8);
    int seed = g_.core[below(g_.core.size())];
    if (now_.now().over > 0 && below(2) == 0) {
        const int point = now_.used().most_at();
        for (int tries = 0; tries < 200; ++tries) {
            const auto v = static_cast<int>(below(p_.nodes.size()));
            if (p_.nodes[to_size(v)].live.first <= point && point < p_.nodes[to_size(v)].live.last) {
                seed = part_solver_.root(v);
                break;
            }
        }
    }
    for (int tries = 0; now_.now().broken > 0 && tries < 4000; ++tries) {
        const reduced_edge& e = p_.edges[below(p_.edges.size())];
        if (now_.is_broken(e)) {
            seed = part_solver_.root(e.from);
            break;
        }
    }
    part_.assign(1, seed);
    chosen_[to_size(seed)] = 1;
    std::vector<int> front(1, seed);
    while (!front.empty() && part_.size() < size) {
        const std::size_t place = below(front.size());
        bool any = false;
        for (const int l : g_.links_of[to_size(front[place])]) {
            const split_graph::link& k = g_.links[to_size(l)];
            const int other = k.from == front[place] ? k.to : k.from;
            if (chosen_[to_size(other)] == 0 && below(4) != 0) {
                chosen_[to_size(other)] = 1;
                part_.push_back(other);
                front.push_back(other);
                any = true;
            }
        }
        if (!any || below(4) == 0) {
            front[place] = front.back();
            front.pop_back();
        }
    }
    for (const int v : part_) {
        chosen_[to_size(v)] = 0;
    }
}

TESSERA_INLINE std::int64_t improver::step(const std::vector<double>& sum, double whole) {
    const double scale = now_.now().over > 0 ? 1 + pick_(3) : pick_(4) == 0 ? 0 : 0.3 * pick_(5);
    std::vector<std::pair<int, double>> raised; // points where memory would run out, with a price of their own
    const standing before = now_.now();
    std::int64_t work = 0;
    for (int round = 0; round < 8; ++round) {
        work += part_solver_.work();
        part_solver_.solve(choice_, [&](int v) {
            const point_range live = p_.nodes[to_size(v)].live;
            double weight = scale * (sum[to_size(live.last)] - sum[to_size(live.first)]);
            for (const auto& [point, price] : raised) {
                weight += live.first <= point && point < live.last ? price : 0;
            }
            return weight;
        });
        std::vector<std::pair<int, int>> changed;
        const auto take = [&](int v) {
            if (choice_[to_size(v)] != now_.choice(v)) {
                changed.emplace_back(v, now_.choice(v));
                now_.set(v, choice_[to_size(v)]);
            }
        };
        for (const int v : part_solver_.free_nodes()) {
            take(v);
            for (const int t : part_solver_.below(v)) {
                take(g_.trees[to_size(t)].node);
            }
        }
        if (!(before < now_.now())) {
            return work;
        }
        const bool over = now_.now().over > before.over;
        const int point = over ? now_.used().most_at() : -1;
        for (std::size_t i = changed.size(); i-- > 0;) {
            now_.set(changed[i].first, changed[i].second);
            choice_[to_size(changed[i].first)] = changed[i].second;
        }
        if (!over) {
            return work; // costs more
        }
        const auto known = std::find_if(raised.begin(), raised.end(), [&](const auto& r) { return r.first == point; });
        if (known != raised.end()) {
            known->second *= 2.5;
        } else {
            raised.emplace_back(point, 0.1 * whole);
        }
    }
    return work;
}

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
