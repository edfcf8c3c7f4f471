// SPDX-License-Identifier: Apache-2.0
// Bodies of certify.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/certify.hpp"

namespace tessera::search::detail {

TESSERA_INLINE std::int64_t certify(const reduced_problem& p, const split_graph& g, const dual_ascent& d) {
    constexpr double scale = 65536;
    constexpr std::int64_t unit = 65536;
    const auto scaled = [](double x) { return static_cast<wide>(std::floor(std::clamp(x, -1e13, 1e13) * scale)); };
    std::vector<wide> sum(to_size(p.points) + 1, 0);
    wide bound = static_cast<wide>(p.constant) * unit;
    for (std::size_t t = 0; t < to_size(p.points); ++t) {
        const wide price = scaled(std::max(0.0, d.prices[t]));
        sum[t + 1] = sum[t] + price;
        bound -= price * (p.limit - p.base[t]);
    }
    std::vector<std::vector<wide>> unary;
    for (const reduced_node& n : p.nodes) {
        const wide weight = sum[to_size(n.live.last)] - sum[to_size(n.live.first)];
        unary.emplace_back();
        for (std::size_t c = 0; c < n.costs.size(); ++c) {
            unary.back().push_back(static_cast<wide>(n.costs[c]) * unit + weight * n.usages[c]);
        }
    }
    const auto whole = [](double cell) { return static_cast<wide>(static_cast<std::int64_t>(cell)) * unit; };
    for (const split_graph::hanging& h : g.trees) {
        const std::vector<wide>& child = unary[to_size(h.node)];
        std::vector<wide>& parent = unary[to_size(h.parent)];
        for (std::size_t b = 0; b < parent.size(); ++b) {
            wide least = child[0] + whole(h.cells[b]);
            for (std::size_t a = 1; a < child.size(); ++a) {
                least = std::min(least, child[a] + whole(h.cells[a * parent.size() + b]));
            }
            parent[b] += least;
        }
    }
    for (std::size_t l = 0; l < g.links.size(); ++l) {
        const split_graph::link& k = g.links[l];
        std::vector<wide>& from = unary[to_size(k.from)];
        std::vector<wide>& to = unary[to_size(k.to)];
        std::vector<wide> mine, other;
        for (std::size_t a = 0; a < from.size(); ++a) {
            mine.push_back(scaled(d.given_to_from(l)[a]));
            from[a] += mine.back();
        }
        for (std::size_t b = 0; b < to.size(); ++b) {
            other.push_back(scaled(d.given_to_to(l)[b]));
            to[b] += other.back();
        }
        wide least = whole(k.rows[0]) - mine[0] - other[0];
        for (std::size_t a = 0; a < from.size(); ++a) {
            for (std::size_t b = 0; b < to.size(); ++b) {
                least = std::min(least, whole(k.rows[a * to.size() + b]) - mine[a] - other[b]);
            }
        }
        bound += least;
    }
    for (const int v : g.core) {
        bound += *std::min_element(unary[to_size(v)].begin(), unary[to_size(v)].end());
    }
    const wide up =
        bound > 0 ? (bound + unit - 1) / unit : bound / unit; // costs are whole, so that a fraction counts as one
    return static_cast<std::int64_t>(std::clamp<wide>(up, 0, forbidden));
}

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
