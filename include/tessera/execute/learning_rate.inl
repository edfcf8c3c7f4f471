// SPDX-License-Identifier: Apache-2.0
// Bodies of learning_rate.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/learning_rate.hpp"

namespace tessera {

TESSERA_INLINE double step_decay::operator()(std::uint64_t step) const {
    if (every == 0) {
        throw error("tessera: a step decay every 0 steps; say after how many steps the rate falls");
    }
    const std::uint64_t falls = step / every;
    return rate * std::pow(factor, static_cast<double>(falls));
}

TESSERA_INLINE double cosine_decay::operator()(std::uint64_t step) const {
    if (warm_up >= steps) {
        throw error("tessera: a cosine decay over 0 steps; the warm-up must be shorter than the training");
    }
    if (step < warm_up) {
        return rate * static_cast<double>(step + 1) / static_cast<double>(warm_up);
    }
    if (step >= steps) {
        return last;
    }
    constexpr double pi = 3.14159265358979323846;
    const double share = static_cast<double>(step - warm_up) / static_cast<double>(steps - warm_up);
    return last + (rate - last) * (1 + std::cos(pi * share)) / 2;
}

TESSERA_INLINE double polynomial_decay::operator()(std::uint64_t step) const {
    if (steps == 0 || !(power > 0)) {
        throw error("tessera: a polynomial decay over " + std::to_string(steps) + " steps with the power " +
                    fixed_text(power) + "; both must be above 0");
    }
    const double share = static_cast<double>(step < steps ? step : steps) / static_cast<double>(steps);
    return last + (rate - last) * std::pow(1 - share, power);
}

} // namespace tessera

#include "tessera/base/end_header.inl"
