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

    [[noreturn]] void refuse(const std::string& what) const;
    void rate(double x) const;
    void clip_norm(double x) const;
    void entropy(double coefficient, int updates) const;
    void infeasible(double reward) const;

private:
    const char* policy_;
};

/// What a number is after some updates if it falls from one to another in a straight line.
double fallen(double first, double last, std::int64_t updates, int over);

} // namespace tessera::learned

#ifndef TESSERA_COMPILED
#include "tessera/learned/learning_options.inl"
#endif

#include "tessera/base/end_header.inl"
