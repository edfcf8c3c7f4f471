// SPDX-License-Identifier: Apache-2.0
// Bodies of vocabulary.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/io/data/vocabulary.hpp"

namespace tessera::io {

TESSERA_INLINE std::vector<std::int32_t> byte_tokens(std::string_view text) {
    std::vector<std::int32_t> tokens;
    tokens.reserve(text.size());
    for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
    return tokens;
}

TESSERA_INLINE vocabulary::vocabulary(std::vector<std::string> tokens) : tokens_{std::move(tokens)} {
    if (tokens_.empty() || tokens_.size() > INT32_MAX)
        throw error("a vocabulary of " + std::to_string(tokens_.size()) + " tokens; give it from 1 to 2^31 - 1");
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
        if (tokens_[i].empty()) throw error("token " + std::to_string(i) + " of a vocabulary is empty; remove it");
        const auto [same, fresh] = numbers_.emplace(tokens_[i], static_cast<std::int32_t>(i));
        if (!fresh)
            throw error("tokens " + std::to_string(same->second) + " and " + std::to_string(i) +
                        " of a vocabulary are the same; remove one");
        longest_ = std::max(longest_, tokens_[i].size());
    }
}

TESSERA_INLINE const std::string& vocabulary::text_of(std::int32_t token) const {
    if (token < 0 || token >= size())
        throw error("token " + std::to_string(token) + " is not one of the vocabulary's " + std::to_string(size()) +
                    "; use the vocabulary that the tokens were made with");
    return tokens_[to_size(token)];
}

TESSERA_INLINE std::vector<std::int32_t> vocabulary::encode(std::string_view text) const {
    std::vector<std::int32_t> found;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t length = std::min(longest_, text.size() - at);
        auto token = numbers_.end();
        for (; length > 0; --length) {
            token = numbers_.find(text.substr(at, length));
            if (token != numbers_.end()) break;
        }
        if (length == 0)
            throw error(
                "a text's byte " + std::to_string(at) + ", in line " +
                std::to_string(1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')) +
                ", is " + quoted::tsv(text.substr(at, 1), true) +
                ", with which no token begins; build the vocabulary of a text that has it");
        found.push_back(token->second);
        at += length;
    }
    return found;
}

TESSERA_INLINE std::string vocabulary::decode(const std::vector<std::int32_t>& tokens) const {
    std::string text;
    for (const std::int32_t t : tokens) text += text_of(t);
    return text;
}

TESSERA_INLINE std::string vocabulary::to_text() const {
    std::string text = "tessera_vocabulary 1 ";
    text += std::to_string(tokens_.size()) + "\n";
    for (const std::string& t : tokens_) text += quoted::tsv(t, true) + "\n";
    return text;
}

} // namespace tessera::io

namespace tessera::io::detail {

TESSERA_INLINE bool read_token(std::string_view line, std::string& token) {
    token.clear();
    const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] != '\\') {
            if (line[i] <= ' ' || line[i] > '~') return false;
            token += line[i];
            continue;
        }
        if (++i >= line.size()) return false;
        constexpr std::string_view letters = "nrt\\";
        constexpr std::string_view meant = "\n\r\t\\";
        if (const std::size_t which = letters.find(line[i]); which != std::string_view::npos) {
            token += meant[which];
        } else if (line[i] == 'x' && i + 2 < line.size() && digit(line[i + 1]) >= 0 && digit(line[i + 2]) >= 0) {
            token += static_cast<char>(digit(line[i + 1]) * 16 + digit(line[i + 2]));
            i += 2;
        } else {
            return false;
        }
    }
    return !token.empty();
}

} // namespace tessera::io::detail

namespace tessera::io {

TESSERA_INLINE vocabulary vocabulary_from_text(std::string_view text, const std::string& name) {
    std::vector<std::string> tokens;
    std::unordered_map<std::string, std::size_t> lines;
    std::uint32_t promised = 0;
    std::size_t line = 0;
    const auto refuse = [&](const std::string& what) {
        throw error("'" + name + "' line " + std::to_string(line) + " " + what +
                    "; build the vocabulary again, or correct the line");
    };
    for (std::size_t at = 0; at < text.size();) {
        ++line;
        const std::size_t end = text.find('\n', at);
        if (end == std::string_view::npos) refuse("does not end: the file is cut short");
        const std::string_view now = text.substr(at, end - at);
        at = end + 1;
        if (line == 1) {
            constexpr std::string_view mark = "tessera_vocabulary 1 ";
            const char* const last = now.data() + now.size();
            if (now.substr(0, mark.size()) != mark)
                refuse("is no head of a vocabulary: it must be \"tessera_vocabulary 1\" and the number of tokens");
            const auto [stop, code] = std::from_chars(now.data() + mark.size(), last, promised);
            if (code != std::errc{} || stop != last || promised == 0) refuse("must end with the number of tokens");
            continue;
        }
        std::string token;
        if (!detail::read_token(now, token))
            refuse("is no token: it must be printable ASCII, with \\n, \\r, \\t, \\\\ or \\xHH for the rest");
        if (tokens.size() == promised) refuse("is more than the tokens that the first line promises");
        const auto [same, fresh] = lines.emplace(token, line);
        if (!fresh) refuse("is the same token as line " + std::to_string(same->second));
        tokens.push_back(std::move(token));
    }
    if (line == 0) throw error("'" + name + "' is empty; build the vocabulary again");
    if (tokens.size() != promised)
        refuse("is the last: the file has " + std::to_string(tokens.size()) + " tokens and promises " +
               std::to_string(promised));
    return vocabulary(std::move(tokens));
}

} // namespace tessera::io

#include "tessera/base/end_header.inl"
