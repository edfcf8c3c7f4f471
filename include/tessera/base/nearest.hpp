// SPDX-License-Identifier: Apache-2.0
// What somebody may have meant who wrote a name that does not exist.
#pragma once
#include "tessera/base/begin_header.inl"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Letters to insert, remove, change, or swap with their neighbour until one word is the other (the restricted
/// Damerau-Levenshtein distance), or `most` + 1 where that is more than `most`: only words' parts that lie at most so
/// far apart are compared.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t most);

inline constexpr std::size_t most_letters =
    100; ///< of a name for which another is suggested: no slip of a finger makes more

/// "; did you mean vgg16 or vgg19?": the names at the least distance, at most three, if that is at most a third of the
/// word's letters (one at the least), or else those that the word begins or that begin it; "" where none is near. Its
/// time grows with the letters of `names`, up to 150 times as many steps.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/base/nearest.inl"
#endif

#include "tessera/base/end_header.inl"
