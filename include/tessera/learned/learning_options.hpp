// SPDX-License-Identifier: Apache-2.0
// What the options of all policies that learn have in common.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/base/finite.hpp"
#include "tessera/base/number_text.hpp"

#include <cmath>
#include <cstdint>
#include <string>

namespace tessera::learned {

/// Throws tessera::error, with the name of the policy, for options that make no sense.
class option_check {
public:
    explicit option_check(const char* policy) : policy_(policy) {}

    [[noreturn]] void refuse(const std::string& what) const {
        throw error("tessera: " + std::string(policy_) + ": " + what);
    }
    void rate(double x) const {
        if (!is_finite(x) || x <= 0) {
            refuse("a learning rate of " + fixed_text(x) + "; give a finite number above 0");
        }
    }
    void clip_norm(double x) const {
        if (!is_finite(x) || x <= 0) {
            refuse("gradients clipped to a norm of " + fixed_text(x) + "; give a finite number above 0");
        }
    }
    void entropy(double coefficient, int updates) const {
        if (!is_finite(coefficient) || coefficient < 0 || updates < 1) {
            refuse("an entropy bonus of " + fixed_text(coefficient) + " that falls over " + std::to_string(updates) +
                   " updates; give a coefficient of at least 0 and at least 1 update");
        }
    }
    void infeasible(double reward) const {
        if (!is_finite(reward) || reward >= 0) {
            refuse("a reward of " + fixed_text(reward) +
                   " for what does not fit; rewards are negative, give one below those of what does");
        }
    }

private:
    const char* policy_;
};

/// What a number is after some updates if it falls from one to another in a straight line.
inline double fallen(double first, double last, std::int64_t updates, int over) {
    const double part = static_cast<double>(updates) / over;
    return part >= 1 ? last : last + (first - last) * (1 - part);
}

} // namespace tessera::learned

#include "tessera/base/end_header.inl"
