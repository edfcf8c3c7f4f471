// SPDX-License-Identifier: Apache-2.0
// Bodies of ascent.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/ascent.hpp"

namespace tessera::search::detail {

TESSERA_INLINE price_ascent::price_ascent(const reduced_problem& p, const split_graph& g, bool with_messages)
    : p_(p), dual_(p, g), g_(g), best_prices_(dual_.prices), momentum_(dual_.prices.size(), 0.0),
      with_messages_(with_messages) {
    double bound = 0;
    for (int i = 0; i < 30; ++i) {
        bound = pass();
    }
    best_ = bound;
    certified_ = certify(p, g, dual_);
    step_ = 0.02 * std::max(1.0, bound) / static_cast<double>(std::max<std::int64_t>(1, p.limit));
}

TESSERA_INLINE dual_ascent price_ascent::settled(int passes) const {
    dual_ascent d = dual_;
    d.prices = best_prices_;
    d.set_prices();
    for (int i = 0; i < passes; ++i) {
        d.pass();
    }
    return d;
}

TESSERA_INLINE bool price_ascent::step(const std::vector<int>& choice) {
    const auto points = to_size(p_.points);
    std::vector<double> over;
    for (const std::int64_t used : usage_sums(p_, choice)) {
        over.push_back(static_cast<double>(used - p_.limit));
    }
    // Of a stretch above the limit only the worst point counts, and those with a price.
    for (std::size_t t = 0; t < points;) {
        if (over[t] <= 0) {
            over[t] = dual_.prices[t] > 0 ? over[t] : 0;
            ++t;
            continue;
        }
        if (stalled_ / 150 % 2 == 1) { // what the worst points alone do not reach, all together may
            ++t;
            continue;
        }
        const std::size_t first = t;
        std::size_t worst = t;
        for (; t < points && over[t] > 0; ++t) {
            worst = over[t] > over[worst] ? t : worst;
        }
        for (std::size_t i = first; i < t; ++i) {
            over[i] = i == worst || dual_.prices[i] > 0 ? over[i] : 0;
        }
    }
    double length = 0;
    for (std::size_t t = 0; t < points; ++t) {
        momentum_[t] = 0.7 * momentum_[t] + 0.3 * over[t];
        momentum_[t] = dual_.prices[t] > 0 || momentum_[t] > 0 ? momentum_[t] : 0;
        length += momentum_[t] * momentum_[t];
    }
    if (length == 0) {
        return false;
    }
    for (std::size_t t = 0; t < points; ++t) {
        dual_.prices[t] = std::max(0.0, dual_.prices[t] + step_ * momentum_[t] / std::sqrt(length));
    }
    return true;
}

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
