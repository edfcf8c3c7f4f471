// SPDX-License-Identifier: Apache-2.0
// Bodies of partition.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/partition.hpp"

namespace tessera::search::placement {

TESSERA_INLINE void weighted_graph::join(int a, int b, double w) {
    for (const auto& [x, y] : {std::pair{a, b}, std::pair{b, a}}) {
        auto& list = near[to_size(x)];
        const auto known =
            std::find_if(list.begin(), list.end(), [other = y](const auto& e) { return e.first == other; });
        if (known != list.end()) {
            known->second += w;
        } else {
            list.push_back({y, w});
        }
    }
}

TESSERA_INLINE double cut_weight(const weighted_graph& g, const std::vector<int>& part) {
    double sum = 0;
    for (std::size_t v = 0; v < part.size(); ++v) {
        for (const auto& [w, weight] : g.near[v]) {
            sum += part[v] != part[to_size(w)] ? weight / 2 : 0;
        }
    }
    return sum;
}

} // namespace tessera::search::placement

namespace tessera::search::placement::detail {

TESSERA_INLINE std::vector<int> multilevel_cut::cut(const weighted_graph& g) {
    std::vector<int> coarse_of;
    const int coarse = g.count() > std::max(64, 16 * parts_) ? match(g, coarse_of) : g.count();
    std::vector<int> part(to_size(g.count()));
    if (coarse > g.count() * 9 / 10) {
        part = grow(g);
    } else {
        const std::vector<int> above = cut(contracted(g, coarse_of, coarse));
        for (std::size_t v = 0; v < part.size(); ++v) {
            part[v] = above[to_size(coarse_of[v])];
        }
    }
    refine(g, part);
    return part;
}

TESSERA_INLINE int multilevel_cut::match(const weighted_graph& g, std::vector<int>& coarse_of) {
    std::vector<int> order(to_size(g.count()));
    for (int v = 0; v < g.count(); ++v) {
        order[to_size(v)] = v;
        std::swap(order[to_size(v)], order[to_size(pick_(v + 1))]);
    }
    double total = 0;
    for (const double w : g.weight) {
        total += w;
    }
    coarse_of.assign(to_size(g.count()), -1);
    int count = 0;
    for (const int v : order) {
        if (coarse_of[to_size(v)] >= 0) {
            continue;
        }
        int best = v;
        double most = -1;
        for (const auto& [w, weight] : g.near[to_size(v)]) {
            const bool light = g.weight[to_size(v)] + g.weight[to_size(w)] <= total / (4.0 * parts_);
            if (coarse_of[to_size(w)] < 0 && weight > most && light) {
                most = weight;
                best = w;
            }
        }
        coarse_of[to_size(v)] = coarse_of[to_size(best)] = count++;
    }
    return count;
}

TESSERA_INLINE weighted_graph multilevel_cut::contracted(const weighted_graph& g, const std::vector<int>& coarse_of,
                                                         int count) {
    weighted_graph c;
    c.weight.assign(to_size(count), 0);
    c.near.resize(to_size(count));
    for (int v = 0; v < g.count(); ++v) {
        c.weight[to_size(coarse_of[to_size(v)])] += g.weight[to_size(v)];
        for (const auto& [w, weight] : g.near[to_size(v)]) {
            if (v < w && coarse_of[to_size(v)] != coarse_of[to_size(w)]) {
                c.join(coarse_of[to_size(v)], coarse_of[to_size(w)], weight);
            }
        }
    }
    return c;
}

TESSERA_INLINE std::vector<int> multilevel_cut::grow(const weighted_graph& g) {
    double total = 0;
    for (const double w : g.weight) {
        total += w;
    }
    std::vector<int> best;
    double least = 0;
    for (int attempt = 0; attempt < 8; ++attempt) {
        std::vector<int> part(to_size(g.count()), parts_ - 1);
        std::vector<char> free(to_size(g.count()), 1);
        for (int p = 0; p + 1 < parts_; ++p) {
            std::vector<double> pull(to_size(g.count()), 0);
            double weight = 0;
            while (weight < total / parts_) {
                int next = -1;
                const int from = pick_(g.count());
                for (int k = 0; k < g.count(); ++k) {
                    const int v = (from + k) % g.count();
                    if (free[to_size(v)] != 0 && (next < 0 || pull[to_size(v)] > pull[to_size(next)])) {
                        next = v;
                    }
                }
                if (next < 0 || weight + g.weight[to_size(next)] / 2 > total / parts_) {
                    break;
                }
                free[to_size(next)] = 0;
                part[to_size(next)] = p;
                weight += g.weight[to_size(next)];
                for (const auto& [w, strength] : g.near[to_size(next)]) {
                    pull[to_size(w)] += strength;
                }
            }
        }
        refine(g, part);
        const double now = cut_weight(g, part);
        if (best.empty() || now < least) {
            best = part;
            least = now;
        }
    }
    return best;
}

TESSERA_INLINE void multilevel_cut::refine(const weighted_graph& g, std::vector<int>& part) const {
    std::vector<double> weight(to_size(parts_), 0);
    double total = 0;
    for (int v = 0; v < g.count(); ++v) {
        weight[to_size(part[to_size(v)])] += g.weight[to_size(v)];
        total += g.weight[to_size(v)];
    }
    const double limit = total / parts_ * (1 + options_.imbalance);
    for (int pass = 0; pass < options_.passes; ++pass) {
        std::vector<char> moved(to_size(g.count()), 0);
        std::vector<std::pair<int, int>> moves; // node, and where it was
        double gain = 0;
        double best = 0;
        std::size_t kept = 0;
        const std::size_t patience = 50 + to_size(g.count()) / 20;
        while (moves.size() < kept + patience) {
            const auto [v, to, more] = best_move(g, part, weight, moved, limit);
            if (v < 0) {
                break;
            }
            moves.push_back({v, part[to_size(v)]});
            weight[to_size(part[to_size(v)])] -= g.weight[to_size(v)];
            weight[to_size(to)] += g.weight[to_size(v)];
            part[to_size(v)] = to;
            moved[to_size(v)] = 1;
            gain += more;
            if (gain > best * (1 + 1e-12) + 1e-12) {
                best = gain;
                kept = moves.size();
            }
        }
        while (moves.size() > kept) {
            const auto [v, from] = moves.back();
            moves.pop_back();
            weight[to_size(part[to_size(v)])] -= g.weight[to_size(v)];
            weight[to_size(from)] += g.weight[to_size(v)];
            part[to_size(v)] = from;
        }
        if (kept == 0) {
            return;
        }
    }
}

TESSERA_INLINE multilevel_cut::one_move multilevel_cut::best_move(const weighted_graph& g, const std::vector<int>& part,
                                                                  const std::vector<double>& weight,
                                                                  const std::vector<char>& moved, double limit) const {
    one_move best;
    bool best_relieves = false;
    std::vector<double> pull(to_size(parts_));
    for (int v = 0; v < g.count(); ++v) {
        if (moved[to_size(v)] != 0) {
            continue;
        }
        const int from = part[to_size(v)];
        const bool relieves = weight[to_size(from)] > limit;
        std::fill(pull.begin(), pull.end(), 0);
        bool inner = true;
        for (const auto& [w, strength] : g.near[to_size(v)]) {
            pull[to_size(part[to_size(w)])] += strength;
            inner = inner && part[to_size(w)] == from;
        }
        for (int to = 0; to < parts_ && !(inner && !relieves); ++to) {
            const double after = weight[to_size(to)] + g.weight[to_size(v)];
            if (to == from || (after > limit && !(relieves && after < weight[to_size(from)]))) {
                continue;
            }
            const double gain = pull[to_size(to)] - pull[to_size(from)];
            if (best.node < 0 || relieves > best_relieves || (relieves == best_relieves && gain > best.gain)) {
                best = {v, to, gain};
                best_relieves = relieves;
            }
        }
    }
    if (best_relieves) { // counts as a gain, whatever it cuts
        best.gain = std::max(best.gain, 0.0) + 1e-9;
    }
    return best;
}

} // namespace tessera::search::placement::detail

namespace tessera::search::placement {

TESSERA_INLINE std::vector<int> partition(const weighted_graph& g, int parts, const partition_options& o) {
    return parts < 2 ? std::vector<int>(g.weight.size(), 0) : detail::multilevel_cut(parts, o).cut(g);
}

} // namespace tessera::search::placement

#include "tessera/base/end_header.inl"
