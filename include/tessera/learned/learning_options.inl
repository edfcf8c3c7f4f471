// SPDX-License-Identifier: Apache-2.0
// Bodies of learning_options.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/learned/learning_options.hpp"

namespace tessera::learned {

TESSERA_INLINE void option_check::refuse(const std::string& what) const {
    throw error("tessera: " + std::string(policy_) + ": " + what);
}

TESSERA_INLINE void option_check::rate(double x) const {
    if (!is_finite(x) || x <= 0) {
        refuse("a learning rate of " + fixed_text(x) + "; give a finite number above 0");
    }
}

TESSERA_INLINE void option_check::clip_norm(double x) const {
    if (!is_finite(x) || x <= 0) {
        refuse("gradients clipped to a norm of " + fixed_text(x) + "; give a finite number above 0");
    }
}

TESSERA_INLINE void option_check::entropy(double coefficient, int updates) const {
    if (!is_finite(coefficient) || coefficient < 0 || updates < 1) {
        refuse("an entropy bonus of " + fixed_text(coefficient) + " that falls over " + std::to_string(updates) +
               " updates; give a coefficient of at least 0 and at least 1 update");
    }
}

TESSERA_INLINE void option_check::infeasible(double reward) const {
    if (!is_finite(reward) || reward >= 0) {
        refuse("a reward of " + fixed_text(reward) +
               " for what does not fit; rewards are negative, give one below those of what does");
    }
}

TESSERA_INLINE double fallen(double first, double last, std::int64_t updates, int over) {
    const double part = static_cast<double>(updates) / over;
    return part >= 1 ? last : last + (first - last) * (1 - part);
}

} // namespace tessera::learned

#include "tessera/base/end_header.inl"
