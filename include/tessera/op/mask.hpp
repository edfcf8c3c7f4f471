// SPDX-License-Identifier: Apache-2.0
// Dropout's random numbers: a function of the seed, the step, the operator and the global index of the element (or
// channel), so that a mask is the same however the tensor is divided.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/attributes.hpp"

namespace tessera::op {

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014): the mixing function of
/// SplitMix64.
constexpr std::uint64_t mix(std::uint64_t z) {
    z += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
}

/// What all elements of one operator in one step have in common.
constexpr std::uint64_t mask_key(std::uint64_t seed, std::uint64_t step, int op) {
    return mix(mix(mix(seed) ^ step) ^ static_cast<std::uint64_t>(op));
}

/// True where the element is kept; dropped with a probability of percent/100.
constexpr bool keeps(std::uint64_t key, index_t global_index, int percent) {
    const std::uint64_t bits = mix(key ^ static_cast<std::uint64_t>(global_index)) >> 32U;
    return bits * 100 >= (static_cast<std::uint64_t>(percent) << 32U);
}

/// The factor of kept elements, 1/(1-p), which keeps expectations.
constexpr double kept_scale(int percent) { return 100.0 / (100.0 - percent); }

} // namespace tessera::op

#include "tessera/base/end_header.inl"
