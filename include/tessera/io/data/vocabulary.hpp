// SPDX-License-Identifier: Apache-2.0
// Texts as tokens: bytes, or the pieces of a vocabulary, which a file holds:
//
//   tessera_vocabulary 1 3     the format's version, the number of tokens
//   a                          a token in each line, number 0 first; \n, \r, \t, \\ and \xHH for what is no printable
//                              ASCII,
//   \xc3\xa4                   and \x20 for a blank
//   he
//
// A text is cut into the longest tokens that there are, from its beginning on.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/base/file.hpp"
#include "tessera/base/quoted.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tessera::io {

/// Each byte a token, 0 to 255.
std::vector<std::int32_t> byte_tokens(std::string_view text);

/// Tokens by number. Throws tessera::error where there are none, one is empty, or two are the same.
class vocabulary {
public:
    explicit vocabulary(std::vector<std::string> tokens);

    [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(tokens_.size()); }
    [[nodiscard]] const std::vector<std::string>& tokens() const { return tokens_; }
    /// The text of a token. Throws tessera::error where there is none of this number.
    [[nodiscard]] const std::string& text_of(std::int32_t token) const;

    /// The longest token that the rest of the text begins with, again and again. Throws tessera::error, with byte and
    /// line, where there is none.
    [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text) const;
    /// The text of tokens. Throws tessera::error for a number that is none.
    [[nodiscard]] std::string decode(const std::vector<std::int32_t>& tokens) const;

    /// As a file has it.
    [[nodiscard]] std::string to_text() const;
    friend bool operator==(const vocabulary& a, const vocabulary& b) { return a.tokens_ == b.tokens_; }

private:
    std::vector<std::string> tokens_;
    struct hash_of_text {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    std::unordered_map<std::string, std::int32_t, hash_of_text, std::equal_to<>> numbers_;
    std::size_t longest_ = 0;
};

namespace detail {

/// A token as a line of a file has it; false where that is none.
bool read_token(std::string_view line, std::string& token);

} // namespace detail

/// Reads the format above; `name` stands for the file in messages. Throws tessera::error with file and line.
vocabulary vocabulary_from_text(std::string_view text, const std::string& name);

inline vocabulary read_vocabulary(const std::string& path) { return vocabulary_from_text(files::read(path), path); }
inline void write_vocabulary(const vocabulary& v, const std::string& path) { files::write(path, v.to_text()); }

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/data/vocabulary.inl"
#endif

#include "tessera/base/end_header.inl"
