// SPDX-License-Identifier: Apache-2.0
// How much work a search may do, and what it says when that was not enough.
#pragma once
#include "tessera/base/begin_header.inl"

#include <cstdint>

namespace tessera::search {

/// How a search ended.
enum class status : std::uint8_t {
    solved,          ///< the returned choice is optimal
    infeasible,      ///< every choice has a forbidden cost
    budget_exhausted ///< the budget was spent; what is returned need not be optimal
};

/// Relaxations (one candidate cost computed and compared) that a search at run time does unless told otherwise: some
/// seconds to a minute.
inline constexpr std::int64_t default_budget = 20'000'000'000;

/// Relaxations that a search in a constant expression does unless told otherwise: some seconds of compile time.
inline constexpr std::int64_t default_static_budget = 2'000'000;

/// Relaxations in one constant evaluation. A relaxation takes up to 10 of the 1'048'576 steps that clang allows.
inline constexpr int relaxations_per_evaluation = 50'000;

/// Steps of user code (as clang counts them, by the user's estimate) in one constant evaluation; the margin is for
/// estimates that are too low by up to a factor of 4.
inline constexpr int steps_per_evaluation = 250'000;

/// Holds the numbers in the compile error of a search that is too much for a constant expression. `Needed` is exact
/// where the eliminations alone exceed the budget, and a lower bound where the enumeration of the remaining nodes does.
template <std::int64_t Needed, std::int64_t Allowed>
struct constant_expression_budget {
    static_assert(Needed <= Allowed, "tessera: the search needs more work than a constant expression may do; raise the "
                                     "budget or search at run time");
};

namespace detail {

constexpr bool swallow(const void*) { return false; }

/// Makes the compile error that `Check` holds, and returns false. The look-up of the unqualified call instantiates it,
/// which leaves the value itself sound, so that no second error follows.
template <class Check>
constexpr bool refuse() {
    return swallow(static_cast<const Check*>(nullptr));
}

template <std::int64_t Needed, std::int64_t Allowed>
constexpr bool is_within_budget() {
    if constexpr (Needed > Allowed) {
        return refuse<constant_expression_budget<Needed, Allowed>>();
    } else {
        return true;
    }
}

} // namespace detail

} // namespace tessera::search

#include "tessera/base/end_header.inl"
