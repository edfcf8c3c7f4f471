// SPDX-License-Identifier: Apache-2.0
// The changes that local searches for placements propose.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/found.hpp"
#include "tessera/search/random_numbers.hpp"

#include <cmath>

namespace tessera::search::placement {

/// A placement by groups that can be changed and changed back.
class group_moves {
public:
    /// A start that puts the nodes of a group on several devices is taken as if all lay where its first node lies.
    group_moves(const evaluator& e, const grouping& groups, const assignment& start);

    const assignment& where() const { return where_; }

    /// Any group to any other device.
    void move_one(random_numbers& pick);
    /// One of several: a group to another device or to a neighbour's, two groups exchanged, or a group with all of its
    /// neighbours that lie with it.
    void move_some(random_numbers& pick);
    bool changed() const { return !undo_.empty(); }
    void undo();

private:
    int groups() const { return static_cast<int>(members_.size()); }
    int device(int group) const { return where_[to_size(members_[to_size(group)].front())]; }
    void put(const std::vector<int>& nodes, int to);
    void change(int group, int to);

    int devices_ = 1;
    std::vector<std::vector<int>> members_;
    std::vector<std::vector<int>> near_;
    assignment where_;
    std::vector<std::pair<int, int>> undo_; ///< groups and where they were
};

namespace detail {

/// The best placement that a walk has seen which proposes changes one after the other, `propose(moves, pick)`, and
/// takes each that is no worse, others with the probability exp(-(relative rise of the price) / temperature). After
/// every proposal the temperature is `falls` times what it was.
template <class Propose>
found walk(evaluator& e, const grouping& together, const assignment& start, std::int64_t evaluations,
           double temperature, double falls, std::uint64_t seed, const Propose& propose) {
    const grouping groups = together.of.empty() ? required_groups(e.graph(), e.order()) : together;
    group_moves moves(e, groups, start.empty() ? assignment(e.graph().nodes.size(), 0) : start);
    const weighed_price weigh(e);
    random_numbers pick{seed};
    found best = priced(e, moves.where());
    found now = best;
    double price = weigh(now);
    std::int64_t made = 1;
    for (; made < evaluations; ++made, temperature *= falls) {
        propose(moves, pick);
        const double bar = pick.number();
        if (!moves.changed()) {
            continue;
        }
        const placement::price p = e.priced(moves.where());
        now.step = p.step;
        now.excess_bytes = p.excess_bytes;
        const double next = weigh(now);
        if (next > price && bar >= std::exp((price - next) / (temperature * price))) {
            moves.undo();
            continue;
        }
        price = next;
        if (now.better_than(best)) {
            best = {moves.where(), now.step, now.excess_bytes, 0};
        }
    }
    best.evaluations = made;
    return best;
}

} // namespace detail

} // namespace tessera::search::placement

#ifndef TESSERA_COMPILED
#include "tessera/search/placement/moves.inl"
#endif

#include "tessera/base/end_header.inl"
