// SPDX-License-Identifier: Apache-2.0
// Bodies of sampling.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/sampling.hpp"

#include "tessera/base/error.hpp"
#include "tessera/base/finite.hpp"
#include "tessera/base/number_text.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace tessera {

TESSERA_INLINE void require(const sampling& how) {
    if (!is_finite(how.temperature) || how.temperature < 0) {
        throw error("tessera: a temperature of " + fixed_text(how.temperature) +
                    "; it must be a finite number of at least 0, which takes the likeliest token");
    }
    if (how.top_k < 0) {
        throw error("tessera: top_k of " + std::to_string(how.top_k) + "; it must be at least 1, or 0 for all tokens");
    }
    if (!(how.top_p > 0) || how.top_p > 1) {
        throw error("tessera: top_p of " + fixed_text(how.top_p) +
                    "; it must be above 0 and at most 1, for all tokens");
    }
}

TESSERA_INLINE std::int32_t next_token(std::span<const float> logits, const sampling& how, double draw) {
    std::size_t best = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
        if (is_nan(logits[i])) {
            throw error("tessera: the logit of token " + std::to_string(i) +
                        " is NaN; the weights are not finite, or were not loaded");
        }
        best = logits[i] > logits[best] ? i : best;
    }
    if (logits.empty() || !is_finite(logits[best])) {
        throw error("tessera: the largest logit is infinite, or there is none; no token can be chosen");
    }
    if (how.temperature == 0) {
        return static_cast<std::int32_t>(best);
    }
    std::vector<std::int32_t> order(logits.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = static_cast<std::int32_t>(i);
    }
    const auto before = [&](std::int32_t a, std::int32_t b) {
        const float x = logits[to_size(a)];
        const float y = logits[to_size(b)];
        return x > y || (x == y && a < b);
    };
    if (how.top_k > 0 && to_size(how.top_k) < order.size()) {
        std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(how.top_k), order.end(), before);
        order.resize(to_size(how.top_k));
    } else {
        std::sort(order.begin(), order.end(), before);
    }
    std::vector<double> weights;
    double total = 0;
    for (const std::int32_t i : order) {
        const double apart = static_cast<double>(logits[to_size(i)]) - static_cast<double>(logits[best]);
        weights.push_back(std::exp(apart / how.temperature));
        total += weights.back();
    }
    std::size_t staying = order.size();
    if (how.top_p < 1) {
        const double enough = how.top_p * total;
        total = 0;
        for (staying = 0; staying < order.size() && total < enough; ++staying) {
            total += weights[staying];
        }
    }
    double sum = 0;
    for (std::size_t k = 0; k + 1 < staying; ++k) {
        sum += weights[k];
        if (sum > draw * total) {
            return order[k];
        }
    }
    while (staying > 1 && weights[staying - 1] == 0) { // far below the others, and never drawn
        --staying;
    }
    return order[staying - 1];
}

} // namespace tessera

#include "tessera/base/end_header.inl"
