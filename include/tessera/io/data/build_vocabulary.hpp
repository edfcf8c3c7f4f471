// SPDX-License-Identifier: Apache-2.0
// Makes a vocabulary of a text by byte pair encoding (Sennrich, Haddow and Birch, "Neural Machine Translation of Rare
// Words with Subword Units", ACL 2016).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/data/vocabulary.hpp"

#include <array>
#include <map>

namespace tessera::io {

namespace detail {

/// The different words of a text as numbers of tokens, with how often they come. A word is a blank and what follows to
/// the next white space; other white space is words of its own, so that no token has the end of one word and the
/// beginning of another.
struct counted_words {
    std::vector<std::vector<std::int32_t>> words;
    std::vector<std::int64_t> count;
};

counted_words words_of(std::string_view text, const std::array<std::int32_t, 256>& number);

} // namespace detail

/// A vocabulary of at most `size` tokens: the bytes that the text has, then again and again the pair of neighbouring
/// tokens that comes most often, of several the first in the order of numbers, as long as one comes twice.
/// `every_byte`: all 256 bytes instead, so that any text can be encoded. A function of the text and these alone. Throws
/// tessera::error where the text is empty or has more different bytes than `size`.
vocabulary build_vocabulary(std::string_view text, std::int32_t size, bool every_byte = false);

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/data/build_vocabulary.inl"
#endif

#include "tessera/base/end_header.inl"
