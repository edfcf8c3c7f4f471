// SPDX-License-Identifier: Apache-2.0
// Large steps of the primal search: a random part of the core, with its trees, is chosen anew at once, under prices of
// memory that rise where the result would pass the limit, and kept where the whole gets better.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/assignment.hpp"
#include "tessera/search/certified/neighbourhood.hpp"
#include "tessera/search/random_numbers.hpp"

namespace tessera::search::detail {

class improver {
public:
    improver(const reduced_problem& p, const split_graph& g, const edge_lists& edges, const std::vector<int>& start,
             std::uint32_t seed)
        : p_(p), g_(g), edges_(edges), now_(p, edges, start), part_solver_(p, g), choice_(start),
          chosen_(p.nodes.size(), 0), pick_{seed} {}

    const assignment& now() const { return now_; }

    void restart(const std::vector<int>& from) {
        now_ = assignment(p_, edges_, from);
        choice_ = from;
    }

    /// Steps until about `most_work` cells were computed, or `stop()` says so.
    template <class Stop>
    void run(std::int64_t most_work, const std::vector<double>& prices, double bound, const Stop& stop) {
        std::vector<double> sum(prices.size() + 1, 0.0);
        for (std::size_t t = 0; t < prices.size(); ++t) {
            sum[t + 1] = sum[t] + prices[t];
        }
        const double whole = sum.back() > 0
                                 ? sum.back()
                                 : std::max(1.0, bound) / static_cast<double>(std::max<std::int64_t>(1, p_.limit));
        for (std::int64_t work = 0; work < most_work && !g_.core.empty() && !stop();) {
            grow();
            part_solver_.choose(part_, 20'000);
            work += 2000 + static_cast<std::int64_t>(20 * part_.size());
            work += step(sum, whole);
        }
    }

private:
    std::size_t below(std::size_t n) { return at(pick_(static_cast<int>(n))); }

    /// A connected part of the core, of 8 to 1024 nodes; where memory is short from somebody who is live then.
    void grow() {
        const std::size_t size = std::size_t{8} << below(8);
        int seed = g_.core[below(g_.core.size())];
        if (now_.now().over > 0 && below(2) == 0) {
            const int point = now_.used().most_at();
            for (int tries = 0; tries < 200; ++tries) {
                const auto v = static_cast<int>(below(p_.nodes.size()));
                if (p_.nodes[at(v)].live.first <= point && point < p_.nodes[at(v)].live.last) {
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
        chosen_[at(seed)] = 1;
        std::vector<int> front(1, seed);
        while (!front.empty() && part_.size() < size) {
            const std::size_t place = below(front.size());
            bool any = false;
            for (const int l : g_.links_of[at(front[place])]) {
                const split_graph::link& k = g_.links[at(l)];
                const int other = k.from == front[place] ? k.to : k.from;
                if (chosen_[at(other)] == 0 && below(4) != 0) {
                    chosen_[at(other)] = 1;
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
            chosen_[at(v)] = 0;
        }
    }

    std::int64_t step(const std::vector<double>& sum, double whole) {
        const double scale = now_.now().over > 0 ? 1 + pick_(3) : pick_(4) == 0 ? 0 : 0.3 * pick_(5);
        std::vector<std::pair<int, double>> raised; // points where memory would run out, with a price of their own
        const standing before = now_.now();
        std::int64_t work = 0;
        for (int round = 0; round < 8; ++round) {
            work += part_solver_.work();
            part_solver_.solve(choice_, [&](int v) {
                const point_range live = p_.nodes[at(v)].live;
                double weight = scale * (sum[at(live.last)] - sum[at(live.first)]);
                for (const auto& [point, price] : raised) {
                    weight += live.first <= point && point < live.last ? price : 0;
                }
                return weight;
            });
            std::vector<std::pair<int, int>> changed;
            const auto take = [&](int v) {
                if (choice_[at(v)] != now_.choice(v)) {
                    changed.emplace_back(v, now_.choice(v));
                    now_.set(v, choice_[at(v)]);
                }
            };
            for (const int v : part_solver_.free_nodes()) {
                take(v);
                for (const int t : part_solver_.below(v)) {
                    take(g_.trees[at(t)].node);
                }
            }
            if (!(before < now_.now())) {
                return work;
            }
            const bool over = now_.now().over > before.over;
            const int point = over ? now_.used().most_at() : -1;
            for (std::size_t i = changed.size(); i-- > 0;) {
                now_.set(changed[i].first, changed[i].second);
                choice_[at(changed[i].first)] = changed[i].second;
            }
            if (!over) {
                return work; // costs more
            }
            const auto known =
                std::find_if(raised.begin(), raised.end(), [&](const auto& r) { return r.first == point; });
            if (known != raised.end()) {
                known->second *= 2.5;
            } else {
                raised.emplace_back(point, 0.1 * whole);
            }
        }
        return work;
    }

    const reduced_problem& p_;
    const split_graph& g_;
    const edge_lists& edges_;
    assignment now_;
    neighbourhood part_solver_;
    std::vector<int> choice_; ///< as now_ between steps
    std::vector<int> part_;
    std::vector<char> chosen_;
    random_numbers pick_;
};

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
