// SPDX-License-Identifier: Apache-2.0
// Bodies of pruning.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/pruning.hpp"

namespace tessera {

TESSERA_INLINE double pruning_schedule::operator()(std::uint64_t step) const {
    require_sense();
    if (step < begin) {
        return 0;
    }
    const std::uint64_t past = (step - begin) / every;
    if (past >= times) {
        return last;
    }
    const double left = 1 - static_cast<double>(past) / static_cast<double>(times);
    return last + (first - last) * left * left * left;
}

TESSERA_INLINE void pruning_schedule::require_sense() const {
    const auto is_share = [](double x) { return x >= 0 && x <= 1; };
    if (!is_share(first) || !is_share(last)) {
        throw error("tessera: a pruning schedule from " + fixed_text(first) + " to " + fixed_text(last) +
                    "; both are shares of the weights, from 0 to 1");
    }
    if (every == 0 || times == 0) {
        throw error("tessera: a pruning schedule of " + std::to_string(times) + " times every " +
                    std::to_string(every) + " steps; both must be above 0");
    }
}

TESSERA_INLINE std::vector<char> pruned_at(std::span<const float> weights, double fraction) {
    const std::size_t n = weights.size();
    std::vector<char> mask(n, 0);
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < n; ++i) {
        if (is_pruned(weights[i])) {
            mask[i] = 1;
        } else {
            left.push_back(i);
        }
    }
    const auto wanted = static_cast<std::size_t>(std::floor(fraction * static_cast<double>(n)));
    const std::size_t more = wanted > n - left.size() ? wanted - (n - left.size()) : 0;
    const auto magnitude = [&](std::size_t i) { // what is not a number comes last
        return is_nan(weights[i]) ? std::numeric_limits<float>::infinity() : std::abs(weights[i]);
    };
    const auto smaller = [&](std::size_t a, std::size_t b) {
        const float x = magnitude(a);
        const float y = magnitude(b);
        return x < y || (x == y && a < b);
    };
    const auto end = left.begin() + static_cast<std::ptrdiff_t>(more);
    if (end != left.end()) {
        std::nth_element(left.begin(), end, left.end(), smaller);
    }
    for (auto i = left.begin(); i != end; ++i) {
        mask[*i] = 1;
    }
    return mask;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
