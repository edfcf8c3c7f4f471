// SPDX-License-Identifier: Apache-2.0
// Bodies of reduced.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/reduced.hpp"

namespace tessera::search::detail {

TESSERA_INLINE reducer::reducer(const choice_problem& p) : p_(p) {
    for (int v = 0; v < p.nodes(); ++v) {
        costs_.emplace_back(p.costs(v).begin(), p.costs(v).end());
        kept_.emplace_back(p.costs(v).size(), 1);
        for (std::size_t c = 0; c < costs_.back().size(); ++c) {
            kept_.back()[c] = costs_.back()[c] < forbidden ? 1 : 0;
        }
    }
    merge_edges();
    around_.resize(to_size(p.nodes()));
    for (std::size_t e = 0; e < edges_.size(); ++e) {
        around_[to_size(edges_[e].from)].push_back(e);
        around_[to_size(edges_[e].to)].push_back(e);
    }
}

TESSERA_INLINE reduced_problem reducer::run(bool dominance) {
    make_consistent();
    for (int round = 0; dominance && round < 3 && result_.possible && strike_dominated(); ++round) {
        make_consistent();
    }
    if (result_.possible) {
        build();
    }
    return std::move(result_);
}

TESSERA_INLINE void reducer::merge_edges() {
    std::map<std::pair<int, int>, std::size_t> known;
    for (int e = 0; e < p_.edges(); ++e) {
        const edge_ends ends = p_.edge(e);
        const std::span<const cost_t> table = p_.table(e);
        const auto [place, is_new] =
            known.try_emplace({std::min(ends.from, ends.to), std::max(ends.from, ends.to)}, edges_.size());
        if (is_new) {
            edges_.push_back({ends.from, ends.to, {table.begin(), table.end()}});
            continue;
        }
        reduced_edge& other = edges_[place->second];
        const std::size_t rows = kept_[to_size(ends.from)].size(), columns = kept_[to_size(ends.to)].size();
        for (std::size_t a = 0; a < rows; ++a) {
            for (std::size_t b = 0; b < columns; ++b) {
                std::int64_t& cell = other.cells[other.from == ends.from ? a * columns + b : b * rows + a];
                cell = add_costs(cell, table[a * columns + b]);
            }
        }
    }
}

TESSERA_INLINE std::int64_t reducer::cell(const reduced_edge& e, int node, std::size_t mine, std::size_t other) const {
    return e.cells[node == e.from ? mine * kept_[to_size(e.to)].size() + other
                                  : other * kept_[to_size(e.to)].size() + mine];
}

TESSERA_INLINE void reducer::make_consistent() {
    std::vector<int> waiting;
    std::vector<char> waits(kept_.size(), 1);
    for (int v = p_.nodes(); v-- > 0;) {
        waiting.push_back(v);
    }
    while (!waiting.empty()) {
        const int v = waiting.back();
        waiting.pop_back();
        waits[to_size(v)] = 0;
        for (const std::size_t e : around_[to_size(v)]) { // what does v's choice leave to its neighbour?
            const int u = other_end(edges_[e], v);
            bool changed = false;
            for (std::size_t c = 0; c < kept_[to_size(u)].size(); ++c) {
                if (kept_[to_size(u)][c] != 0 && !has_partner(edges_[e], u, c, v)) {
                    kept_[to_size(u)][c] = 0;
                    ++result_.forbidden_choices;
                    changed = true;
                }
            }
            if (changed && waits[to_size(u)] == 0) {
                waits[to_size(u)] = 1;
                waiting.push_back(u);
            }
        }
        if (std::find(kept_[to_size(v)].begin(), kept_[to_size(v)].end(), 1) == kept_[to_size(v)].end()) {
            result_.possible = false;
            return;
        }
    }
}

TESSERA_INLINE bool reducer::has_partner(const reduced_edge& e, int node, std::size_t choice, int other) const {
    for (std::size_t d = 0; d < kept_[to_size(other)].size(); ++d) {
        if (kept_[to_size(other)][d] != 0 && cell(e, node, choice, d) < forbidden) {
            return true;
        }
    }
    return false;
}

TESSERA_INLINE bool reducer::dominates(int v, std::size_t better, std::size_t worse) const {
    if (!p_.live(v).is_empty() && p_.usages(v)[better] > p_.usages(v)[worse]) {
        return false;
    }
    std::int64_t saved = costs_[to_size(v)][worse] - costs_[to_size(v)][better];
    for (const std::size_t i : around_[to_size(v)]) {
        const reduced_edge& e = edges_[i];
        const int u = other_end(e, v);
        std::int64_t least = INT64_MAX;
        for (std::size_t d = 0; d < kept_[to_size(u)].size(); ++d) {
            if (kept_[to_size(u)][d] == 0 || cell(e, v, worse, d) >= forbidden) {
                continue;
            }
            const std::int64_t there = cell(e, v, better, d);
            if (there >= forbidden) {
                return false;
            }
            least = std::min(least, cell(e, v, worse, d) - there);
        }
        saved += least < INT64_MAX ? least : 0;
    }
    return saved >= 0;
}

TESSERA_INLINE std::int64_t reducer::work_of(int v) const {
    std::size_t neighbours = 1;
    for (const std::size_t e : around_[to_size(v)]) {
        neighbours += kept_[to_size(other_end(edges_[e], v))].size();
    }
    return static_cast<std::int64_t>(neighbours * kept_[to_size(v)].size() * kept_[to_size(v)].size());
}

TESSERA_INLINE bool reducer::strike_dominated() {
    bool any = false;
    for (int v = 0; v < p_.nodes(); ++v) {
        std::vector<char>& kept = kept_[to_size(v)];
        if (work_of(v) > most_dominance_work) {
            continue;
        }
        for (std::size_t worse = kept.size(); worse-- > 0;) {
            for (std::size_t better = 0; better < kept.size() && kept[worse] != 0; ++better) {
                if (better != worse && kept[better] != 0 && dominates(v, better, worse)) {
                    kept[worse] = 0;
                    ++result_.dominated_choices;
                    any = true;
                }
            }
        }
    }
    return any;
}

TESSERA_INLINE void reducer::build() {
    const std::vector<std::vector<std::size_t>> left = choices_left();
    std::vector<int> number(kept_.size(), -1);
    result_.limit = p_.limit;
    result_.decided.resize(kept_.size());
    std::vector<live_range> ranges;
    for (int v = 0; v < p_.nodes(); ++v) {
        result_.decided[to_size(v)] = static_cast<choice_t>(left[to_size(v)][0]);
        bool uses = false;
        for (const std::size_t c : left[to_size(v)]) {
            uses = uses || p_.usages(v)[c] > 0;
        }
        ranges.push_back(uses && p_.limit != no_limit ? p_.live(v) : live_range{});
        if (left[to_size(v)].size() > 1) {
            number[to_size(v)] = static_cast<int>(result_.nodes.size());
            reduced_node n{v, {}, {}, {}, {}};
            for (const std::size_t c : left[to_size(v)]) {
                n.choices.push_back(static_cast<choice_t>(c));
                n.costs.push_back(costs_[to_size(v)][c]);
                n.usages.push_back(p_.usages(v)[c]);
            }
            result_.nodes.push_back(std::move(n));
        } else {
            result_.constant = add_costs(result_.constant, costs_[to_size(v)][left[to_size(v)][0]]);
        }
    }
    for (const reduced_edge& e : edges_) {
        build_edge(e, left, number);
    }
    build_points(make_live_points(ranges), left, number);
}

TESSERA_INLINE std::vector<std::vector<std::size_t>> reducer::choices_left() const {
    std::vector<std::vector<std::size_t>> left(kept_.size());
    for (std::size_t v = 0; v < kept_.size(); ++v) {
        for (std::size_t c = 0; c < kept_[v].size(); ++c) {
            if (kept_[v][c] != 0) {
                left[v].push_back(c);
            }
        }
    }
    return left;
}

TESSERA_INLINE void reducer::build_edge(const reduced_edge& e, const std::vector<std::vector<std::size_t>>& left,
                                        const std::vector<int>& number) {
    const std::vector<std::size_t>& rows = left[to_size(e.from)];
    const std::vector<std::size_t>& columns = left[to_size(e.to)];
    const auto cost = [&](std::size_t a, std::size_t b) { return cell(e, e.from, rows[a], columns[b]); };
    bool separable = true;
    for (std::size_t a = 0; a < rows.size() && separable; ++a) {
        for (std::size_t b = 0; b < columns.size() && separable; ++b) {
            separable = (cost(a, b) < forbidden && cost(a, b) - cost(a, 0) == cost(0, b) - cost(0, 0)) ||
                        (rows.size() == 1 && columns.size() == 1);
        }
    }
    if (!separable) {
        reduced_edge made{number[to_size(e.from)], number[to_size(e.to)], {}};
        for (std::size_t a = 0; a < rows.size(); ++a) {
            for (std::size_t b = 0; b < columns.size(); ++b) {
                made.cells.push_back(cost(a, b));
            }
        }
        result_.edges.push_back(std::move(made));
        return;
    }
    ++result_.separable_edges;
    result_.constant = add_costs(result_.constant, cost(0, 0));
    for (std::size_t a = 0; a < rows.size() && rows.size() > 1; ++a) {
        result_.nodes[to_size(number[to_size(e.from)])].costs[a] += cost(a, 0) - cost(0, 0);
    }
    for (std::size_t b = 0; b < columns.size() && columns.size() > 1; ++b) {
        result_.nodes[to_size(number[to_size(e.to)])].costs[b] += cost(0, b) - cost(0, 0);
    }
}

TESSERA_INLINE void reducer::build_points(const live_points& points, const std::vector<std::vector<std::size_t>>& left,
                                          const std::vector<int>& number) {
    std::vector<std::int64_t> least(to_size(points.count()) + 1, 0), most = least;
    const auto add = [&](std::vector<std::int64_t>& to, point_range r, std::int64_t what) {
        to[to_size(r.first)] += what;
        to[to_size(r.last)] -= what;
    };
    for (int v = 0; v < p_.nodes(); ++v) {
        const point_range r = points.of_nodes[to_size(v)];
        std::int64_t largest = 0;
        for (const std::size_t c : left[to_size(v)]) {
            largest = std::max(largest, p_.usages(v)[c]);
        }
        add(most, r, r.is_empty() ? 0 : largest);
        add(least, r, r.is_empty() || number[to_size(v)] >= 0 ? 0 : p_.usages(v)[left[to_size(v)][0]]);
    }
    std::vector<int> place(to_size(points.count()) + 1, 0); // of each point among those that are kept
    std::int64_t sum = 0, fixed = 0;
    for (int t = 0; t < points.count(); ++t) {
        sum += most[to_size(t)];
        fixed += least[to_size(t)];
        place[to_size(t) + 1] = place[to_size(t)] + (sum > p_.limit ? 1 : 0);
        if (sum > p_.limit) {
            result_.base.push_back(fixed);
        }
    }
    result_.points = place.back();
    for (reduced_node& n : result_.nodes) {
        const point_range r = points.of_nodes[to_size(n.origin)];
        n.live = {place[to_size(r.first)], place[to_size(r.last)]};
    }
}

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
