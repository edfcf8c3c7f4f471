// SPDX-License-Identifier: Apache-2.0
// Which token comes next, given the logits of all.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/mask.hpp"

#include <cstdint>
#include <span>

namespace tessera {

/// How a token is chosen. Tokens are in one order: the larger logit first, of equal ones the smaller number.
struct sampling {
    /// 0: the first of them. Else token i is drawn with a probability that is proportional to exp(logit / temperature)
    /// among those that stay.
    double temperature = 0;
    index_t top_k = 0;      ///< so many stay (Fan et al. 2018); 0: all
    double top_p = 1;       ///< of these the fewest that have at least this probability together (Holtzman et al. 2020)
    std::uint64_t seed = 1; ///< of draw_of()
};

/// Throws tessera::error for a temperature below 0, less than no tokens, or a probability that is not in (0, 1].
void require(const sampling& how);

/// The number in [0, 1) that the token at a place of a sequence is drawn with: a function of these three alone,
/// whatever else is generated beside it. 53 bits of op::mix.
constexpr double draw_of(std::uint64_t seed, std::uint64_t sequence, std::uint64_t place) {
    const std::uint64_t bits = op::mix(op::mix(op::mix(seed) ^ sequence) ^ place);
    return static_cast<double>(bits >> 11U) * 0x1p-53;
}

/// The token: of those that stay, in their order, the first at which the sum of probabilities exceeds `draw`. Throws
/// tessera::error where a logit is NaN, or the largest is infinite.
std::int32_t next_token(std::span<const float> logits, const sampling& how, double draw);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/sampling.inl"
#endif

#include "tessera/base/end_header.inl"
